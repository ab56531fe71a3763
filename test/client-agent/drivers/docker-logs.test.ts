/** The output of containers: frames in whatever parts they come, and what is told twice after a restart of the agent. */
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Engine } from '../../../src/client-agent/drivers/docker/engine.ts'
import { Frames } from '../../../src/client-agent/drivers/docker/frames.ts'
import { LogCursor } from '../../../src/client-agent/drivers/docker/log-cursor.ts'
import { nsOf } from '../../../src/client-agent/drivers/docker/pieces.ts'
import { Terminal } from '../../../src/client-agent/drivers/docker/terminal.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { DockerEngine } from '../../support/docker/engine.ts'

function frameOf(kind: number, text: string): Buffer {
  const head = Buffer.from([kind, 0, 0, 0, 0, 0, 0, 0])
  head.writeUInt32BE(text.length, 4)
  return Buffer.concat([head, Buffer.from(text)])
}

t.test('frames are the same in whatever parts they come', (t) => {
  const whole = Buffer.concat([
    frameOf(1, 'one'),
    frameOf(2, ''),
    frameOf(2, 'two'),
    frameOf(0, '0'),
  ])
  const expected = ['stdout one', 'stderr ', 'stderr two', 'stdout 0']
  for (const size of [1, 3, 8, 9, whole.length]) {
    const frames = new Frames()
    const found: string[] = []
    for (let at = 0; at < whole.length; at += size) {
      for (const { stream, data } of frames.take(whole.subarray(at, at + size))) {
        found.push(`${stream} ${data.toString()}`)
      }
    }
    t.same(found, expected, `parts of ${size}`)
  }
  const code = 'unavailable'
  t.throws(() => new Frames().take(Buffer.from('no frames at all')), { code })
  t.throws(() => new Frames().take(Buffer.from([1, 0, 0, 0, 255, 0, 0, 0])), { code }, 'too long')
  t.end()
})

t.test('pieces of a terminal are the same in whatever parts they come', (t) => {
  const time = (second: number): string => `2026-01-02T03:04:0${second}.000000000Z `
  const x = (length: number): string => 'x'.repeat(length)
  const rows: readonly (readonly [readonly string[], string])[] = [
    [[x(16_384), x(3_616)], 'a long line'],
    [[x(16_384), ''], 'a newline alone'],
    [[x(16_383)], 'a line that is one piece'],
    [[`${time(9)}${x(16_353)}`, x(3_647)], 'a time of its own'],
    [[`\ufffd${x(16_381)}\ufffd\ufffd`, 'yy'], 'bytes that are no UTF-8'],
  ]
  for (const [texts, name] of rows) {
    const told = Buffer.from(`${texts.map((text) => time(1) + text).join('')}\n${time(2)}end`)
    for (const size of [1_000, 16_384 + 31, told.length]) {
      const terminal = new Terminal()
      const found: string[] = []
      for (let at = 0; at < told.length; at += size) {
        const pieces = terminal.take(told.subarray(at, at + size))
        found.push(...pieces.map(({ atNs, data }) => `${atNs} ${data.toString()}`))
      }
      found.push(...terminal.rest().map(({ atNs, data }) => `${atNs} ${data.toString()}`))
      const [one, two] = [nsOf(time(1).trim()), nsOf(time(2).trim())]
      const lines = texts.map((text, index) => text + (index === texts.length - 1 ? '\n' : ''))
      t.same(found, [...lines.map((text) => `${one} ${text}`), `${two} end`], `${name}, ${size}`)
    }
  }
  t.end()
})

t.test('parts of a line without such pieces all have its time', (t) => {
  const terminal = new Terminal()
  const time = '2026-01-02T03:04:05.000000000Z'
  const pieces = [
    ...terminal.take(Buffer.from(`${time} ${'x'.repeat(100_000)}`)),
    ...terminal.take(Buffer.from('x'.repeat(50_000))),
    ...terminal.rest(),
  ]
  t.same(
    pieces.map(({ data }) => data.length),
    [65_536, 65_536, 18_928],
  )
  t.ok(pieces.every(({ atNs }) => atNs === nsOf(time)))
  t.same(new Terminal().take(Buffer.from('no time\n')), [
    { stream: 'stdout', atNs: null, data: Buffer.from('no time\n') },
  ])
  t.end()
})

/** Where the cursor is kept, and the files that are copied to. */
async function setting(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-cursor-'))
  const [stdout, stderr] = [join(folder, 'out'), join(folder, 'err')]
  const logs = { stdout: await open(stdout, 'a'), stderr: await open(stderr, 'a') }
  t.teardown(async () => {
    await Promise.all([logs.stdout.close(), logs.stderr.close()])
    await rm(folder, { recursive: true, force: true })
  })
  return { path: join(folder, 'logged'), stdout, logs }
}

/** As `pass`, of lines that differ unless said. */
function passOf(cursor: LogCursor) {
  const isNew = cursor.pass()
  let count = 0
  return (stream: 'stdout' | 'stderr', atNs: bigint, text = `${(count += 1)}\n`): boolean =>
    isNew({ stream, atNs, data: Buffer.from(text) })
}

t.test('what was copied is not copied again, also of one moment', async (t) => {
  const { path, logs } = await setting(t)
  const first = await LogCursor.open(path, 'a', logs)
  t.equal(first.since, '0.000000000')
  const isNew = passOf(first)
  t.ok(isNew('stdout', 5_000_000_000n))
  t.ok(isNew('stdout', 5_000_000_000n), 'another part of the same line')
  t.ok(isNew('stderr', 4_000_000_000n), 'the streams are not in one order')
  await first.save()
  await first.close()
  const second = await LogCursor.open(path, 'a', logs)
  t.equal(second.since, '3.000000000')
  const isNewer = passOf(second)
  t.notOk(isNewer('stderr', 4_000_000_000n))
  t.notOk(isNewer('stdout', 5_000_000_000n))
  t.notOk(isNewer('stdout', 5_000_000_000n))
  t.ok(isNewer('stdout', 5_000_000_000n), 'a third one came meanwhile')
  await second.close()
  const other = await LogCursor.open(path, 'b', logs)
  t.ok(passOf(other)('stdout', 1n), 'of another container nothing was copied')
  await other.close()
  await writeFile(path, 'torn')
  const torn = await LogCursor.open(path, 'a', logs)
  t.equal(torn.since, '0.000000000')
  await torn.close()
})

t.test('what a daemon tells once more when it begins another file is not taken', async (t) => {
  const { path, logs } = await setting(t)
  const cursor = await LogCursor.open(path, 'a', logs)
  const isNew = passOf(cursor)
  const tenth = 100_000_000n
  for (const at of [100n, 101n, 102n]) t.ok(isNew('stdout', at * tenth))
  t.ok(isNew('stdout', 103n * tenth, 'x'))
  t.ok(isNew('stdout', 103n * tenth, 'x'), 'pieces of a line may be alike')
  t.notOk(isNew('stdout', 101n * tenth))
  t.equal(cursor.since, '8.300000000', 'it does not go back')
  t.ok(isNew('stderr', 101n * tenth), 'the other stream is for itself')
  t.notOk(isNew('stdout', 102n * tenth))
  for (const text of ['x', 'x']) t.notOk(isNew('stdout', 103n * tenth, text))
  t.ok(isNew('stdout', 103n * tenth, 'end\n'), 'the line went on meanwhile')
  t.notOk(isNew('stdout', 103n * tenth, 'end\n'), 'the last piece alone')
  t.ok(isNew('stdout', 104n * tenth))
  t.ok(isNew('stdout', 50n * tenth), 'the clock was set')
  t.ok(isNew('stdout', 51n * tenth))
  t.equal(cursor.since, '8.100000000', 'of the stream that is further')
  await cursor.close()
})

t.test('what was written and not counted is cut off, of the same file and container', async (t) => {
  const { path, stdout, logs } = await setting(t)
  const text = () => readFile(stdout, 'utf8')
  await logs.stdout.appendFile('of an earlier run\n')
  const first = await LogCursor.open(path, 'a', logs)
  t.ok(passOf(first)('stdout', 5n))
  await logs.stdout.appendFile('one\n')
  await first.save()
  await logs.stdout.appendFile('two, and then the agent is kil')
  await first.close()
  const second = await LogCursor.open(path, 'a', logs)
  t.equal(await text(), 'of an earlier run\none\n')
  t.notOk(passOf(second)('stdout', 5n))
  await logs.stdout.appendFile('more\n')
  await second.close()
  await (await LogCursor.open(path, 'b', logs)).close()
  t.equal(await text(), 'of an earlier run\none\nmore\n', 'of another container nothing is')
})

t.test('times are read to the nanosecond', (t) => {
  const second = BigInt(Date.UTC(2026, 0, 2, 3, 4, 5)) * 1_000_000n
  t.equal(nsOf('2026-01-02T03:04:05.678901234Z'), second + 678_901_234n)
  t.equal(nsOf('2026-01-02T03:04:05.5Z'), second + 500_000_000n)
  t.equal(nsOf('2026-01-02T05:04:05+02:00'), second)
  t.equal(nsOf('hello'), null)
  t.end()
})

t.test('the version of the API is one that the daemon has', async (t) => {
  const daemon = await DockerEngine.start(t)
  const rows = [
    { ApiVersion: '1.47', MinAPIVersion: '1.24', used: 'v1.41' },
    { ApiVersion: '1.40', MinAPIVersion: '1.12', used: 'v1.40' },
    { ApiVersion: '1.52', MinAPIVersion: '1.44', used: 'v1.44' },
  ]
  for (const { used, ...versions } of rows) {
    daemon.versions = versions
    const engine = new Engine(daemon.socketPath, systemClock)
    await engine.ask({ method: 'GET', path: '/containers/json' })
    t.equal(daemon.heard.at(-1)?.version, used)
  }
})
