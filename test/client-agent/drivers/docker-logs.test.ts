/** The output of containers: frames in whatever parts they come, and what is told twice after a restart of the agent. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Engine } from '../../../src/client-agent/drivers/docker/engine.ts'
import { Frames } from '../../../src/client-agent/drivers/docker/frames.ts'
import { LogCursor, nsOf } from '../../../src/client-agent/drivers/docker/log-cursor.ts'
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

async function cursorFile(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-cursor-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'logged')
}

t.test('what was copied is not copied again, also of one moment', async (t) => {
  const path = await cursorFile(t)
  const first = await LogCursor.open(path, 'a')
  t.equal(first.since, '0.000000000')
  const isNew = first.pass()
  t.ok(isNew('stdout', 5_000_000_000n))
  t.ok(isNew('stdout', 5_000_000_000n), 'another part of the same line')
  t.ok(isNew('stderr', 4_000_000_000n), 'the streams are not in one order')
  await first.save()
  await first.close()
  const second = await LogCursor.open(path, 'a')
  t.equal(second.since, '3.000000000')
  const isNewer = second.pass()
  t.notOk(isNewer('stderr', 4_000_000_000n))
  t.notOk(isNewer('stdout', 5_000_000_000n))
  t.notOk(isNewer('stdout', 5_000_000_000n))
  t.ok(isNewer('stdout', 5_000_000_000n), 'a third one came meanwhile')
  t.ok(isNewer('stdout', 4_900_000_000n), 'what follows is new, whatever became of the clock')
  await second.close()
  const other = await LogCursor.open(path, 'b')
  t.ok(other.pass()('stdout', 1n), 'of another container nothing was copied')
  await other.close()
  await writeFile(path, 'torn')
  const torn = await LogCursor.open(path, 'a')
  t.equal(torn.since, '0.000000000')
  await torn.close()
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
