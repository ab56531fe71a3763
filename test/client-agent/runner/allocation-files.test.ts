/** What others see of an allocation's folder: all that is in it but secrets, and nothing else. */
import { appendFile, mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  listFiles,
  readFileOf,
  statFile,
} from '../../../src/client-agent/runner/allocation-files.ts'
import type { FileToRead } from '../../../src/domains/tasks/services.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const never = new AbortController().signal

async function planted(t: Test) {
  const above = t.testdir({ 'other.txt': 'of another' })
  const root = join(above, 'allocation')
  for (const path of ['alloc/logs', 'web/local', 'web/secrets', '.run/web']) {
    await mkdir(join(root, path), { recursive: true })
  }
  await writeFile(join(root, 'alloc/logs/web.stdout.0'), 'one\ntwo\n')
  await writeFile(join(root, 'web/secrets/key'), 'hidden')
  await writeFile(join(root, '.run/web/pids'), '1 2')
  return { above, root }
}

function reading(path: string, part: Partial<FileToRead> = {}): FileToRead {
  const whole = { origin: 'start', offset: 0, limit: null, follow: false } as const
  return { allocation: '', path, ...whole, ...part }
}

async function textOf(root: string, of: FileToRead): Promise<string> {
  let text = ''
  for await (const { data } of await readFileOf(root, of, systemClock, never)) {
    text += Buffer.from(data).toString()
  }
  return text
}

t.test('folders are listed, and files are read whole or in part', async (t) => {
  const { root } = await planted(t)
  const names = async (path: string) => (await listFiles(root, path)).map(({ name }) => name)
  t.same(await names('/'), ['alloc', 'web'], 'what the drivers have is not shown')
  t.same(await names('web'), ['local', 'secrets'])
  const file = 'alloc/logs/web.stdout.0'
  t.match(await statFile(root, `/${file}`), { name: 'web.stdout.0', size: 8, isDir: false })
  t.match(await statFile(root, ''), { isDir: true, mode: /^d/ })
  t.equal(await textOf(root, reading(file)), 'one\ntwo\n')
  t.equal(await textOf(root, reading(file, { offset: 2, limit: 3 })), 'e\nt')
  t.equal(await textOf(root, reading(file, { origin: 'end', offset: 4 })), 'two\n')
  t.equal(await textOf(root, reading(file, { offset: 100 })), '')
})

t.test('no path and no link leads out of it, or to secrets', async (t) => {
  const { above, root } = await planted(t)
  await symlink(join(above, 'other.txt'), join(root, 'web/local/out'))
  await symlink(above, join(root, 'web/local/up'))
  await symlink('../secrets', join(root, 'web/local/own'))
  await symlink('/', join(root, 'alloc/top'))
  await symlink('logs/web.stdout.0', join(root, 'alloc/inside'))
  const denied = [
    '../other.txt',
    'web/../../other.txt',
    'web/local/out',
    'web/local/up',
    'web/local/up/other.txt',
    'alloc/top/etc/passwd',
    'web/secrets',
    'web/secrets/key',
    'web/secrets/none',
    'web/local/own/key',
    '.run/web/pids',
  ]
  for (const path of denied) {
    await t.rejects(readFileOf(root, reading(path), systemClock, never), {
      code: 'permission_denied',
    })
    await t.rejects(statFile(root, path), { code: 'permission_denied' }, path)
    await t.rejects(listFiles(root, path), { code: 'permission_denied' }, path)
  }
  t.equal(await textOf(root, reading('alloc/inside')), 'one\ntwo\n')
  await t.rejects(statFile(root, 'web/none'), { code: 'not_found' })
  await t.rejects(statFile(root, 'web/\0'), { code: 'invalid_argument' })
  await t.rejects(listFiles(root, 'alloc/inside'), { code: 'not_found' })
  await t.rejects(readFileOf(root, reading('web'), systemClock, never), {
    code: 'invalid_argument',
  })
})

t.test('a file is followed over what is written, its truncation and its end', async (t) => {
  const { root } = await planted(t)
  const path = 'alloc/logs/web.stdout.0'
  const opened = await readFileOf(root, reading(path, { follow: true }), systemClock, never)
  const chunks = opened[Symbol.asyncIterator]()
  const next = async () => (await chunks.next()).value as { data: Uint8Array; event?: string }
  t.equal(Buffer.from((await next()).data).toString(), 'one\ntwo\n')
  await appendFile(join(root, path), 'three\n')
  t.equal(Buffer.from((await next()).data).toString(), 'three\n')
  await truncate(join(root, path))
  t.match(await next(), { event: 'file truncated', offset: 0 })
  await appendFile(join(root, path), 'new\n')
  t.equal(Buffer.from((await next()).data).toString(), 'new\n')
  await rm(join(root, path))
  t.match(await next(), { event: 'file deleted' })
  t.equal((await chunks.next()).done, true)
})
