/** Snapshots in Consul's container: what its command line verifies and inspects, and what a restore takes. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { gunzipSync, gzipSync } from 'node:zlib'
import { restorer } from '../../../src/domains/operator/services.ts'
import { ConsulSaver } from '../../../src/domains/operator/consul-saver.ts'
import { unwrapArchive } from '../../../src/domains/operator/consul-archive.ts'
import { readTarHeader, tarHeader, tarPadding } from '../../../src/domains/operator/tar.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne } from '../server-of-one.ts'

function folderFor(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-consul-archive-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function unwrapped(bytes: Uint8Array, piece = bytes.length): Promise<Buffer> {
  const source = async function* () {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece)
  }
  const parts: Uint8Array[] = []
  for await (const part of unwrapArchive(source())) parts.push(part)
  return Buffer.concat(parts)
}

async function filledServer(t: Test) {
  const server = await serverOfOne(t)
  for (const key of ['a', 'b/c']) await server.ask('PUT', `/v1/kv/${key}`, `value of ${key}`)
  return server
}

/** Of files that nobody can open any more, and this process still does. */
function deletedFilesOpen(folder: string): string[] {
  const open = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return open.filter((path) => path.startsWith(folder) && path.endsWith(' (deleted)'))
}

t.test('no file of a save stays open, whole or broken off', async (t) => {
  const server = await filledServer(t)
  for (let n = 0; n < 3; n += 1) await server.ask('GET', '/v1/snapshot')
  const folder = folderFor(t)
  const own = (await server.ask('GET', '/v1/operator/snapshot')).bytes
  const saver = new ConsulSaver(folder)
  const saved = saver.save(
    (async function* () {
      yield own
    })(),
  )
  await saved.next()
  await saved.next()
  await saved.return(undefined)
  await eventuallyTrue('all are closed', () =>
    [folder, server.folder].every((place) => deletedFilesOpen(place).length === 0),
  )
})

t.test('a save is a gzip of a tar whose sums hold, and goes back the same', async (t) => {
  const server = await filledServer(t)
  const own = (await server.ask('GET', '/v1/operator/snapshot')).bytes
  const saved = await server.ask('GET', '/v1/snapshot')
  t.same([saved.status, saved.headers['content-type']], [200, 'application/x-gzip'])
  t.ok(Number(saved.headers['x-consul-index']) > 0)
  t.same(readdirSync(join(server.folder, 'restore')), [], 'no temporary file is left')

  const folder = folderFor(t)
  writeFileSync(join(folder, 'saved.snap'), saved.bytes)
  execFileSync('tar', ['-xzf', 'saved.snap'], { cwd: folder })
  t.same(readdirSync(folder).sort(), ['SHA256SUMS', 'meta.json', 'saved.snap', 'state.bin'])
  const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8')
  for (const name of ['meta.json', 'state.bin']) {
    const hash = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
    t.ok(sums.includes(`${hash}  ${name}\n`), name)
  }
  const state = readFileSync(join(folder, 'state.bin'))
  const meta = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8')) as { Index: number }
  t.match(meta, { Version: 1, ID: /^1-\d+-\d+$/, Term: 1, Size: state.length })
  // A map of one number, then items of a type byte and a text with its length.
  t.equal(state.toString('latin1', 0, 12), '\x81\xa9LastIndex\xcf')
  t.equal(Number(state.readBigUInt64BE(12)), meta.Index)
  t.same([...state.subarray(20, 22)], [120, 0xdb])

  const inner = await unwrapped(saved.bytes)
  t.equal(inner.toString('latin1', 0, 16), own.toString('latin1', 0, 16))
  t.equal((await unwrapped(saved.bytes, 7)).compare(inner), 0, 'in pieces of any size')
  t.equal((await unwrapped(own, 1)).compare(own), 0, 'an archive by itself is left as it is')

  await server.ask('PUT', '/v1/kv/a', 'changed')
  const restored = await server.ask('PUT', '/v1/snapshot', saved.bytes)
  t.same([restored.status, restored.body], [200, ''])
  t.equal((await server.ask('GET', '/v1/kv/a?raw')).body, 'value of a')
  await server.ask('PUT', '/v1/kv/a', 'changed')
  t.equal((await server.ask('PUT', '/v1/operator/snapshot', saved.bytes)).status, 200)
  t.equal((await server.ask('PUT', '/v1/snapshot', own)).status, 200, 'either form on either path')
  t.equal((await server.ask('GET', '/v1/kv/a?raw')).body, 'value of a')
})

t.test('an archive that is not whole is refused, and changes nothing', async (t) => {
  const server = await filledServer(t)
  const saved = (await server.ask('GET', '/v1/snapshot')).bytes
  const tar = gunzipSync(saved)
  const flipped = (at: number): Buffer => {
    const copy = Buffer.from(tar)
    copy[at] = (copy[at] ?? 0) ^ 1
    return gzipSync(copy)
  }
  const isPlain = tar.subarray(0, 512)
  const metaBytes = readTarHeader(isPlain)?.bytes ?? 0
  const stateAt = 512 + metaBytes + tarPadding(metaBytes).length + 512
  await server.ask('PUT', '/v1/kv/a', 'newer')
  const hostile: readonly (readonly [string, Buffer])[] = [
    ['nothing', Buffer.from([0x1f, 0x8b])],
    ['no gzip', Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(500, 7)])],
    ['a cut gzip', saved.subarray(0, saved.length - 30)],
    ['a cut tar', gzipSync(tar.subarray(0, stateAt + 100))],
    ['another meta', flipped(520)],
    ['another index', flipped(stateAt + 19)],
    ['a header with another sum', flipped(3)],
    ['more after the end', gzipSync(Buffer.concat([tar, Buffer.from('more')]))],
    [
      'another file first',
      gzipSync(Buffer.from(tarHeader({ name: 'x', bytes: 0, modifiedMs: 0 }))),
    ],
    [
      'a meta that is too long',
      gzipSync(Buffer.from(tarHeader({ name: 'meta.json', bytes: 2 ** 40, modifiedMs: 0 }))),
    ],
  ]
  for (const [what, bytes] of hostile) {
    const { status, body } = await server.ask('PUT', '/v1/snapshot', bytes)
    t.equal(status, 400, `${what}: ${body}`)
    t.match(body, /snapshot/, what)
  }
  const foreign = Buffer.from(tar)
  foreign[stateAt + 20] = 3
  const refused = await server.ask('PUT', '/v1/snapshot', gzipSync(foreign))
  t.same(
    [refused.status, refused.body],
    [
      400,
      "this snapshot was not saved from this program: Consul's own state cannot be restored here",
    ],
  )
  t.equal((await server.ask('GET', '/v1/kv/a?raw')).body, 'newer')
  t.same(readdirSync(join(server.folder, 'restore')), [])
})

t.test(
  'a save needs what a restore needs, and its temporary file is cleaned up after a crash',
  async (t) => {
    const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
    t.equal((await server.ask('GET', '/v1/snapshot')).status, 403)
    t.equal((await server.ask('PUT', '/v1/snapshot', Buffer.from('x'))).status, 403)
    const plain = await filledServer(t)
    await plain.ask('GET', '/v1/snapshot')
    const left = join(plain.folder, 'restore', 'save-left')
    writeFileSync(left, 'x')
    await plain.services.get(restorer).clean()
    t.same(readdirSync(join(plain.folder, 'restore')), [])
  },
)

t.test('sizes of tar entries beyond what octal holds', (t) => {
  for (const bytes of [0, 1, 8 ** 11 - 1, 8 ** 11, 2 ** 50]) {
    const block = Buffer.from(
      tarHeader({ name: 'state.bin', bytes, modifiedMs: 1_700_000_000_000 }),
    )
    t.same(readTarHeader(block), { name: 'state.bin', bytes })
  }
  t.end()
})
