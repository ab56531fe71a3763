/** What is written into a variable is nowhere on any disk, in no log line and in no archive, in the clear. */
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readArchive } from '../../src/domains/operator/archive.ts'
import { startCluster } from '../support/cluster.ts'
import { equalReplicas } from '../support/replicas.ts'

/** Chance, so that no compression shortens it. */
const secret = `planted${randomBytes(24).toString('hex')}`
const secretKey = `name${randomBytes(24).toString('hex')}`

void t.test('a planted secret is found nowhere', async (t) => {
  const cluster = await startCluster(t, { logLevel: 'trace', raft: { compact_bytes: '1MiB' } })
  const at = await cluster.follower()
  const put = async (path: string): Promise<void> => {
    const body = JSON.stringify({ Items: { [secretKey]: secret, v: secret } })
    await cluster.http(at).json('PUT', `/v1/var/${path}`, { body })
  }
  for (let number = 0; number < 20; number += 1) await put(`secret/${number}`)
  await cluster.http(at).json('PUT', '/v1/operator/keyring/rotate')
  for (let number = 0; number < 40; number += 1) await put(`secret/${number}`)
  // A refused write also carries it.
  await cluster.variables(at).cas('secret/0', 1, secret)
  await equalReplicas(cluster, 'secret/')
  t.match(
    await cluster.variables(at).read('secret/3'),
    { type: 'ok', seen: { value: secret } },
    'but whoever may read it gets it',
  )

  const archive = await cluster.http(at).request('GET', '/v1/operator/snapshot')
  t.equal(archive.status, 200)
  t.notOk(holdsSecret(archive.body), 'not in the archive')
  for await (const part of readArchive(inPieces(archive.body))) {
    const bytes =
      part.type === 'block' ? Buffer.from(part.block) : Buffer.from(JSON.stringify(part))
    if (holdsSecret(bytes)) t.fail('the archive holds it, compressed')
  }

  // Once with the files as a running server has them, once as a crash leaves them.
  for (const state of ['running', 'killed']) {
    if (state === 'killed') await Promise.all(cluster.all.map((server) => cluster.kill(server)))
    const files = await filesUnder(cluster.folder)
    t.ok(files.length > 3 * cluster.size, `${files.length} files looked through, ${state}`)
    for (const file of files) {
      const content = await readFile(file).catch(() => Buffer.alloc(0))
      if (holdsSecret(content)) t.fail(`${file} holds it (${state})`)
    }
  }
})

/** As it is, and as common encodings of it. */
function holdsSecret(bytes: Buffer): boolean {
  return [secret, secretKey].some((text) =>
    (['utf8', 'utf16le', 'hex', 'base64'] as const).some((encoding) =>
      bytes.includes(
        encoding === 'utf16le' ? Buffer.from(text, encoding) : encoded(text, encoding),
      ),
    ),
  )
}

function encoded(text: string, encoding: 'utf8' | 'hex' | 'base64'): string {
  // Without the last quantum, whose letters depend on what follows.
  return Buffer.from(text)
    .toString(encoding)
    .slice(0, encoding === 'base64' ? -4 : undefined)
}

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  const pieceBytes = 64 * 1024
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}
