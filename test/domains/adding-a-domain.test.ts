/** The code of `docs/adding-a-domain.md`, as it stands there, in a server. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import type { Domain } from '../../src/domains/domain.ts'
import { serverDomains } from '../../src/domains/registry.ts'
import { serverOfOne } from './server-of-one.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const domainName = 'noticesDomain'

/** Writes the page's files where bare imports resolve, with imports of `src` by their whole path. */
async function domainOfPage(folder: string): Promise<Domain> {
  const page = await readFile(join(root, 'docs/adding-a-domain.md'), 'utf8')
  const files = [...page.matchAll(/^```ts (\S+)\n([\s\S]*?)^```$/gm)]
  for (const [, name = '', code = ''] of files) {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true })
    const whole = code
      .replaceAll("from '../../", `from '${root}src/`)
      .replaceAll("from '../", `from '${root}src/domains/`)
    await writeFile(path, whole)
  }
  const module: unknown = await import(pathToFileURL(join(folder, 'notices/domain.ts')).href)
  return (module as Readonly<Record<string, Domain>>)[domainName] as Domain
}

void t.test('the domain of the page works once it is in the list', async (t) => {
  await mkdir(join(root, '.tap'), { recursive: true })
  const folder = await mkdtemp(join(root, '.tap', 'domain-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const server = await serverOfOne(t, {
    domains: [...serverDomains, await domainOfPage(folder)],
  })
  t.equal((await server.ask('GET', '/v1/notice/lunch')).status, 404)
  const put = await server.ask('PUT', '/v1/notice/lunch', { Text: 'at noon' })
  t.same([put.status, put.json()], [200, { Created: true }])
  const read = await server.ask('GET', '/v1/notice/lunch')
  t.equal(read.status, 200)
  t.match(read.json(), { Name: 'lunch', Text: 'at noon' })
  t.equal((await server.ask('PUT', '/v1/notice/lunch', {})).status, 400)

  const index = String(read.headers['x-service-index'])
  const waiting = server.ask('GET', `/v1/notice/lunch?index=${index}&wait=30s`)
  const again = await server.ask('PUT', '/v1/notice/lunch', { Text: 'at one' })
  t.same(again.json(), { Created: false })
  t.match((await waiting).json(), { Text: 'at one' })
})

void t.test('a caller without the right that its methods name is refused', async (t) => {
  await mkdir(join(root, '.tap'), { recursive: true })
  const folder = await mkdtemp(join(root, '.tap', 'domain-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const server = await serverOfOne(t, {
    acl: { enabled: true },
    domains: [...serverDomains, await domainOfPage(folder)],
  })
  const refused = await server.ask('PUT', '/v1/notice/lunch', { Text: 'at noon' })
  t.equal(refused.status, 403)
})
