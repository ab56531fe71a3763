/** Whether the disk takes writes, with a disk that does as it is told and with a real one. */
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { DiskProbe, probeEveryMs, probeStallMs } from '../../src/server/disk-probe.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

/** A disk whose answer the test decides; null: none. */
function probed() {
  const clock = manualClock()
  const lines: string[] = []
  const note = (message: string, fields = {}) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`)
  const gone: boolean[] = []
  let answer: Error | 'ok' | null = 'ok'
  let release: () => void = () => {}
  let hasFile = true
  const probe = new DiskProbe({
    folder: '/log',
    clock,
    logger: { ...silentLogger, info: note, error: note },
    hasFile: () => Promise.resolve(hasFile),
    onGone: (isGone) => void gone.push(isGone),
    async write() {
      if (answer === null) await new Promise<void>((resolve) => (release = resolve))
      else if (answer !== 'ok') throw answer
    },
  })
  return {
    clock,
    lines,
    gone,
    probe,
    answer: (next: typeof answer) => (answer = next),
    release: () => release(),
    deleteFile: () => (hasFile = false),
  }
}

t.test('a disk that refuses is noticed with the next probe, and so is its return', async (t) => {
  const { clock, lines, probe, answer } = probed()
  await probe.start()
  t.ok(probe.healthy)
  t.ok(probeEveryMs < 2_000)
  answer(new Error('ENOSPC: no space left on device'))
  clock.advance(probeEveryMs)
  await settled()
  t.notOk(probe.healthy)
  clock.advance(probeEveryMs)
  await settled()
  answer('ok')
  clock.advance(probeEveryMs)
  await settled()
  t.ok(probe.healthy)
  t.same(lines, [
    'the disk takes no writes {"folder":"/log","reason":"ENOSPC: no space left on device"}',
    'the disk takes writes again {"folder":"/log"}',
  ])
  await probe.stop()
  answer(new Error('nobody asks any more'))
  clock.advance(probeEveryMs)
  await settled()
  t.ok(probe.healthy)
})

t.test('a disk that does not answer is unhealthy until it does', async (t) => {
  const { clock, probe, answer, release } = probed()
  await probe.start()
  answer(null)
  clock.advance(probeEveryMs)
  clock.advance(probeStallMs - 1)
  t.ok(probe.healthy, 'it may take its time')
  clock.advance(1)
  t.notOk(probe.healthy)
  release()
  await settled()
  t.ok(probe.healthy)
  await probe.stop()
})

t.test('a folder that is gone is told of, a disk that refuses is not', async (t) => {
  const { clock, probe, answer, gone } = probed()
  await probe.start()
  for (const [code, told] of [
    ['ENOSPC', []],
    ['ENOENT', [true]],
    ['ENOENT', [true]],
    ['ENOSPC', [true]],
    [null, [true, false]],
  ] as const) {
    answer(code === null ? 'ok' : Object.assign(new Error(code), { code }))
    clock.advance(probeEveryMs)
    await eventuallyTrue('the probe rests', () => clock.timerCount === 1)
    t.same(gone, told, String(code))
  }
  await probe.stop()
})

t.test('a log whose file was deleted is gone, although its folder is there', async (t) => {
  const { clock, lines, probe, gone, deleteFile } = probed()
  await probe.start()
  deleteFile()
  clock.advance(probeEveryMs)
  await eventuallyTrue('the probe rests', () => clock.timerCount === 1)
  t.notOk(probe.healthy)
  t.same(gone, [true])
  t.match(lines, [/the disk takes no writes .*the log in \/log was deleted: stop this server/])
  await probe.stop()
})

t.test('on a real folder nothing is left, and a folder that is gone takes no writes', async (t) => {
  const folder = join(t.testdir(), 'raft')
  await mkdir(folder)
  const clock = {
    ...systemClock,
    setTimer: (_: number, run: () => void) => systemClock.setTimer(5, run),
  }
  const told: boolean[] = []
  const onGone = (gone: boolean) => void told.push(gone)
  const probe = new DiskProbe({ folder, clock, logger: silentLogger, onGone })
  await probe.start()
  t.ok(probe.healthy)
  await rename(folder, `${folder}-aside`)
  await eventuallyTrue('the loss is noticed', () => !probe.healthy)
  t.same(told, [true])
  await mkdir(folder)
  await setTimeout(50)
  t.notOk(probe.healthy, 'another folder does not bring the log back')
  await rm(folder, { recursive: true })
  await rename(`${folder}-aside`, folder)
  await eventuallyTrue('the return is noticed', () => probe.healthy)
  t.same(told, [true, false])
  await probe.stop()
  t.same(await readdir(folder), [])
})
