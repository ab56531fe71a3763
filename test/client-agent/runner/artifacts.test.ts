/** Artifacts of tasks: got, checked and unpacked before the task starts, within bounds, and never outside of the task's folders. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { lstat, mkdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { crc32, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { ArtifactSettings } from '../../../src/client-agent/runner/artifacts/limits.ts'
import { workFolders } from '../../../src/client-agent/runner/runner.ts'
import { certificatePair } from '../../support/certificates.ts'
import { dataFolder, ServersStandIn, startedRunner, type Tasks } from './server-stand-in.ts'

type Entry = {
  readonly path: string
  readonly content?: string
  readonly type?: string
  readonly target?: string
  readonly mode?: number
}

/** As tar writes it. */
function tarOf(...entries: readonly Entry[]): Buffer {
  const blocks = entries.map(({ path, content = '', type = '0', target = '', mode = 0o644 }) => {
    const head = Buffer.alloc(512)
    head.write(path, 0)
    head.write(`${mode.toString(8).padStart(7, '0')}\0`, 100)
    head.write(`${Buffer.byteLength(content).toString(8).padStart(11, '0')}\0`, 124)
    head.write('        ', 148)
    head.write(type, 156)
    head.write(target, 157)
    head.write('ustar\u000000', 257)
    head.write(
      `${head
        .reduce((sum, byte) => sum + byte)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    )
    const body = Buffer.alloc(Math.ceil(Buffer.byteLength(content) / 512) * 512)
    body.write(content)
    return Buffer.concat([head, body])
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

function paxOf(key: string, value: string): Entry {
  const rest = ` ${key}=${value}\n`
  const length = rest.length + 2 < 100 ? rest.length + 2 : rest.length + 3
  return { path: 'pax', type: 'x', content: `${length}${rest}` }
}

/** As zip writes it on Unix. */
function zipOf(...entries: readonly (Entry & { readonly sum?: number })[]): Buffer {
  const files: Buffer[] = []
  const list: Buffer[] = []
  let at = 0
  for (const { path, content = '', mode = 0o100644, sum } of entries) {
    const name = Buffer.from(path)
    const packed = deflateRawSync(content)
    const head = Buffer.alloc(46)
    head.writeUInt32LE(0x02014b50, 0)
    head.writeUInt16LE(0x0314, 4)
    head.writeUInt16LE(8, 10)
    head.writeUInt32LE(sum ?? crc32(content), 16)
    head.writeUInt32LE(packed.length, 20)
    head.writeUInt32LE(Buffer.byteLength(content), 24)
    head.writeUInt16LE(name.length, 28)
    head.writeUInt32LE(mode * 65_536, 38)
    head.writeUInt32LE(at, 42)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(name.length, 26)
    files.push(local, name, packed)
    list.push(head, name)
    at += 30 + name.length + packed.length
  }
  const whole = Buffer.concat(list)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(whole.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...files, whole, end])
}

type Given = Buffer | string | { readonly redirect: string } | { readonly status: number }

async function web(t: Test, files: Readonly<Record<string, Given>>) {
  const asked: IncomingMessage[] = []
  const server = createServer((request, response) => {
    asked.push(request)
    const given = files[new URL(request.url ?? '', 'http://x').pathname.slice(1)] ?? { status: 404 }
    if (typeof given === 'string' || Buffer.isBuffer(given)) response.end(given)
    else if ('redirect' in given) response.writeHead(302, { location: given.redirect }).end()
    else response.writeHead(given.status).end('no')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, asked }
}

type Artifacts = NonNullable<Tasks[number]['Artifacts']>

async function setting(t: Test, artifacts: Partial<ArtifactSettings> = {}) {
  const folder = await dataFolder(t)
  const servers = new ServersStandIn()
  await startedRunner(t, servers, { folder, artifacts })
  let number = 0
  const place = (list: Artifacts, script = 'true', attempts = 0) => {
    number += 1
    const Config = { command: 'sh', args: ['-c', script] }
    const tasks = [{ Name: 'main', Driver: 'raw_exec', Config, Artifacts: list }]
    const policy = { Attempts: attempts, Interval: 60e9, Delay: 1e6, Mode: 'fail' }
    const id = servers.place(number, 'batch', tasks, { RestartPolicy: policy })
    return { id, own: (path: string) => join(workFolders(folder).allocations, id, path) }
  }
  const failure = async (list: Artifacts) => {
    const { id, own } = place(list)
    const { tasks } = await servers.becomes(id, 'failed')
    const event = tasks[0]?.events.find(({ type }) => type === 'Failed Artifact Download')
    return { text: event?.displayMessage ?? JSON.stringify(tasks), own }
  }
  return { folder, servers, place, failure }
}

const sha256 = (content: string | Buffer) =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`

t.test('files and archives are there when the task starts', async (t) => {
  const program = '#!/bin/sh\necho ran "$1"\n'
  const entries: readonly Entry[] = [
    { path: 'app/', type: '5' },
    { path: 'app/bin/run', content: program, mode: 0o755 },
    { path: 'app/latest', type: '2', target: 'bin/run' },
    { path: 'app/same', type: '1', target: 'app/bin/run' },
    paxOf('path', `app/${'long'.repeat(20)}`),
    { path: 'cut', content: 'long' },
  ]
  const tar = tarOf(...entries)
  const zipped = zipOf(
    { path: 'd/', mode: 0o40755 },
    { path: 'd/a.txt', content: 'zipped' },
    { path: 'd/l', content: 'a.txt', mode: 0o120777 },
  )
  const { url, asked } = await web(t, {
    'x.tar.gz': gzipSync(tar),
    'x.tar.zst': zstdCompressSync(tar),
    'x.zip': zipped,
    'run.gz': gzipSync(program),
    run: program,
    moved: { redirect: '/run' },
  })
  const { servers, place } = await setting(t)
  const { id, own } = place(
    [
      { GetterSource: `${url}/x.tar.gz`, GetterOptions: { checksum: sha256(gzipSync(tar)) } },
      { GetterSource: `${url}/x.tar.zst`, RelativeDest: 'local/zst' },
      {
        GetterSource: `${url}/x.zip?checksum=${sha256(zipped)}`,
        RelativeDest: '${NOMAD_TASK_DIR}/zip',
      },
      { GetterSource: `${url}/x.tar.gz`, GetterOptions: { archive: 'false' } },
      { GetterSource: `${url}/moved`, GetterMode: 'file', RelativeDest: 'local/program' },
      { GetterSource: `${url}/run.gz`, GetterHeaders: { 'X-Token': '${NOMAD_JOB_ID}' } },
    ],
    'local/app/latest a; local/program b; local/run c',
  )
  const { tasks } = await servers.becomes(id, 'complete')
  t.equal(await readFile(own('alloc/logs/main.stdout.0'), 'utf8'), 'ran a\nran b\nran c\n')
  t.match(
    tasks[0]?.events.map(({ type }) => type),
    ['Received', 'Task Setup', 'Downloading Artifacts', 'Started'],
  )
  t.equal((await stat(own('main/local/app/bin/run'))).mode & 0o777, 0o755)
  t.equal(await readFile(own('main/local/zst/app/same'), 'utf8'), program)
  t.equal(await readFile(own(`main/local/app/${'long'.repeat(20)}`), 'utf8'), 'long')
  t.equal(await readFile(own('main/local/zip/d/l'), 'utf8'), 'zipped')
  t.equal(await readlink(own('main/local/app/latest')), 'bin/run')
  t.ok(existsSync(own('main/local/x.tar.gz')))
  t.equal(asked.at(-1)?.headers['x-token'], 'job')
})

t.test('an artifact is got once, and again where that failed', async (t) => {
  const files: Record<string, Given> = { run: 'x' }
  const { url, asked } = await web(t, files)
  const { servers, place } = await setting(t)
  const once = place(
    [{ GetterSource: `${url}/run` }],
    '[ -e again ] || { touch again; exit 1; }',
    3,
  )
  await servers.becomes(once.id, 'complete')
  t.equal(asked.length, 1, 'a restart gets nothing')
  const retried = place([{ GetterSource: `${url}/later` }], 'true', 50)
  await servers.reported(retried.id, ({ tasks: [task] }) => (task?.restarts ?? 0) > 1)
  files['later'] = 'x'
  await servers.becomes(retried.id, 'complete')
})

t.test('headers of a job go to no other server', async (t) => {
  const other = await web(t, { run: 'x' })
  const { url, asked } = await web(t, { moved: { redirect: `${other.url}/run` } })
  const { servers, place } = await setting(t)
  const GetterHeaders = { Authorization: 'secret' }
  const { id } = place([{ GetterSource: `${url}/moved`, GetterHeaders }])
  await servers.becomes(id, 'complete')
  t.equal(asked[0]?.headers.authorization, 'secret')
  t.equal(other.asked[0]?.headers.authorization, undefined)
})

t.test('what is not as it should be fails, and says why', async (t) => {
  const { url } = await web(t, {
    x: 'x',
    long: 'x'.repeat(2 ** 20 + 1),
    loop: { redirect: '/loop' },
    file: { redirect: 'file:///etc/hostname' },
    'bomb.gz': gzipSync(Buffer.alloc(3 * 2 ** 20)),
    'many.tar': tarOf(...Array.from({ length: 17 }, (_, at) => ({ path: `f${at}`, content: 'x' }))),
    'cut.tar': tarOf({ path: 'a', content: 'x'.repeat(2_000) }).subarray(0, 1_024),
    'none.zip': 'no zip',
    'sum.zip': zipOf({ path: 'a', content: 'x', sum: 1 }),
    'not.tar.gz': 'no gzip',
  })
  const { failure } = await setting(t)
  const of = (path: string, more: object = {}): Artifacts => [
    { GetterSource: `${url}/${path}`, ...more },
  ]
  // What is asked for, and the end of the event.
  const cases: readonly (readonly [Artifacts, RegExp])[] = [
    [of('none'), /failed to get "http:.*\/none": the server answered 404$/],
    [
      of('x', { GetterOptions: { checksum: sha256('y') } }),
      /the checksum is sha256:2d71.*, not sha256:a1fc/,
    ],
    [of('long?token=secret'), /"http:[^?]*\/long": it has more than 1048576 bytes$/],
    [of('loop'), /redirects more than 5 times/],
    [of('file'), /redirects to file:/],
    [of('bomb.gz'), /unpacks to more than 1048576 bytes/],
    [of('many.tar'), /more than 16 files/],
    [of('cut.tar'), /no archive of tar: it is cut off/],
    [of('none.zip'), /no archive of zip: it has no list/],
    [of('sum.zip'), /a file is not what the list says/],
    [of('not.tar.gz'), /incorrect header check/],
    [[{ GetterSource: 'http://127.0.0.1:1/x' }], /ECONNREFUSED/],
    [[{ GetterSource: 'file:///etc/hostname' }], /gives no files of its own/],
  ]
  for (const [artifacts, expected] of cases) {
    const { text } = await failure(artifacts)
    t.match(text, expected)
    t.notMatch(text, /secret/)
  }
})

t.test('no archive leads out of its folder', async (t) => {
  const link = (path: string, target: string): Entry => ({ path, type: '2', target })
  const bad: Readonly<Record<string, readonly Entry[]>> = {
    up: [{ path: '../../../x', content: 'x' }],
    absolute: [{ path: '/tmp/x', content: 'x' }],
    linkUp: [link('a/b', '../../x')],
    linkAbsolute: [link('a', '/etc')],
    linkThenUp: [link('d/l', '.'), link('d/m', 'l/../..')],
    hardlink: [{ path: 'a', type: '1', target: '../../x' }],
    device: [{ path: 'a', type: '3' }],
    fifo: [{ path: 'a', type: '6' }],
  }
  const files = Object.entries(bad).map(([name, entries]) => [`${name}.tar`, tarOf(...entries)])
  const zipped = { 'zip.zip': zipOf({ path: '../x', content: 'x' }) }
  const { url } = await web(t, {
    ...Object.fromEntries(files),
    ...zipped,
    'through.tar': tarOf(
      link('l', 'd'),
      { path: 'd/x', content: 'x' },
      { path: 'l/y', content: 'y' },
    ),
    'evil.tar': tarOf({ path: 'link/x', content: 'x' }),
  })
  const { failure, folder, place, servers } = await setting(t)
  for (const name of [...files.map(([name]) => String(name)), 'zip.zip']) {
    const { text } = await failure([{ GetterSource: `${url}/${name}` }])
    t.match(text, /leads out of the artifact|is no file, folder or link/, name)
  }
  const { own, text } = await failure([{ GetterSource: `${url}/through.tar` }])
  t.match(text, /l is a folder already/)
  t.ok((await lstat(own('main/local/l'))).isDirectory(), 'nothing is written through a link')
  const [outside, next] = [join(folder, 'outside'), '00000000-0000-4000-8000-000000000011']
  await mkdir(outside)
  const local = join(workFolders(folder).allocations, next, 'main/local')
  await mkdir(local, { recursive: true })
  await symlink(outside, join(local, 'link'))
  const { id } = place([{ GetterSource: `${url}/evil.tar` }])
  t.equal(id, next)
  await servers.becomes(id, 'failed')
  t.notOk(existsSync(join(outside, 'x')))
})

t.test('files of the machine are those of the folders that are named', async (t) => {
  const shared = t.testdir({ a: { 'x.txt': 'x', d: { 'y.txt': 'y' } }, b: { 'z.txt': 'z' } })
  await symlink('../b/z.txt', join(shared, 'a/out'))
  await mkdir(join(shared, 'c'))
  await writeFile(join(shared, 'c/x.txt'), 'x')
  await symlink('x.txt', join(shared, 'c/l'))
  const { servers, place, failure } = await setting(t, {
    fileFolders: [join(shared, 'a/d'), join(shared, 'c')],
  })
  const good = place([
    { GetterSource: `file://${shared}/a/d`, RelativeDest: 'local/d' },
    { GetterSource: `${shared}/c/x.txt`, GetterOptions: { checksum: sha256('x') } },
  ])
  await servers.becomes(good.id, 'complete')
  t.equal(await readFile(good.own('main/local/d/y.txt'), 'utf8'), 'y')
  t.equal(await readFile(good.own('main/local/x.txt'), 'utf8'), 'x')
  // What is asked for, and the end of the event.
  const cases: readonly (readonly [string, RegExp])[] = [
    [`${shared}/a/x.txt`, /in no folder of client\.artifact\.file_folders/],
    [`${shared}/a/d/../x.txt`, /in no folder/],
    [`${shared}/a/out`, /in no folder/],
    [`${shared}/c/none`, /there is no .*none on this machine/],
    [`${shared}/c`, /ELOOP/],
  ]
  for (const [source, expected] of cases) {
    t.match((await failure([{ GetterSource: source }])).text, expected)
  }
})

t.test('an artifact that is slow fails, and one that is not wanted any more ends', async (t) => {
  const server = createServer((_request, response) => void response.write('x'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const source = [{ GetterSource: `http://127.0.0.1:${port}/x` }]
  const slow = await setting(t, { msMax: 200 })
  t.match((await slow.failure(source)).text, /it took longer than 0\.2s/)
  const { servers, place } = await setting(t)
  const { id } = place(source)
  await servers.reported(
    id,
    ({ tasks: [task] }) => task?.events.at(-1)?.type === 'Downloading Artifacts',
  )
  servers.stop(id)
  await servers.becomes(id, 'complete')
})

t.test('a server that proves nothing is believed only where the job says so', async (t) => {
  const pair = certificatePair(t.testdir())
  const cert = await pair.renew()
  const server = createHttpsServer({ cert, key: await readFile(pair.keyFile) }, (_, response) =>
    response.end('x'),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { servers, place, failure } = await setting(t)
  const artifact = { GetterSource: `https://127.0.0.1:${port}/run`, Chown: true }
  t.match(await failure([artifact]), { text: /self-signed certificate/ })
  const { id, own } = place([{ ...artifact, GetterInsecure: true }])
  await servers.becomes(id, 'complete')
  t.equal(await readFile(own('main/local/run'), 'utf8'), 'x')
})
