/** Snapshots by the clock, with a clock that the test moves and files in a folder of its own. */
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readArchive, writeArchive } from '../../../src/domains/operator/archive.ts'
import {
  freeBytesMin,
  retryMs,
  ScheduledSnapshots,
  type ScheduledSnapshotsOptions,
} from '../../../src/domains/operator/scheduled-snapshots.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { eventually } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { writtenFolder } from '../../support/written-folder.ts'

const hourMs = 3_600_000
/** Half past one. */
const startMs = Date.UTC(2026, 10, 22, 13, 30)

async function* all<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values
}

function archiveAt(index: number): AsyncIterable<Uint8Array> {
  return writeArchive(
    { index, term: 1, createdMs: 0, commandVersion: 2, clusterKeys: [] },
    all([Buffer.from('rows')]),
    () => ({ rows: 1, digest: 'd'.repeat(64) }),
  )
}

function scheduled(
  t: Test,
  options: Partial<ScheduledSnapshotsOptions> & { readonly retain?: number } = {},
) {
  const folder = join(writtenFolder(t), 'snapshots')
  const clock = manualClock(startMs)
  const errors: string[] = []
  let index = 0
  const open = () => {
    const snapshots = new ScheduledSnapshots({
      schedule: { everyMs: hourMs, retain: options.retain ?? 3, folder },
      server: 's1',
      archive: async () => archiveAt((index += 1)),
      clock,
      log: {
        ...silentLogger,
        error: (message, fields) => void errors.push(`${message} ${JSON.stringify(fields)}`),
      },
      ...options,
    })
    t.teardown(() => snapshots.stop())
    return snapshots
  }
  const snapshots = open()
  const files = async () =>
    (await readdir(folder).catch(() => [])).sort((a, b) => a.localeCompare(b))
  return {
    folder,
    clock,
    errors,
    open,
    snapshots,
    files,
    start: () => {
      snapshots.start()
      clock.advance(0)
    },
    /** Minute by minute, as the schedule looks at the clock. */
    pass: async (ms: number) => {
      for (let passed = 0; passed < ms; passed += retryMs) {
        clock.advance(Math.min(retryMs, ms - passed))
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    saved: (count: number) =>
      eventually(`${count} snapshots are saved`, async () => {
        clock.advance(0)
        // The round is over once it waits for the next look: time that passes before would be missed.
        return snapshots.stats.saved === count && clock.timerCount > 0 ? true : undefined
      }),
  }
}

void t.test(
  'the first is saved at once, the next ones at whole multiples of the interval',
  async (t) => {
    const { folder, start, pass, saved, files, snapshots } = scheduled(t)
    start()
    await saved(1)
    t.same(await files(), ['muster-s1-20261122T133000Z-1.snap'])
    await pass(29 * retryMs)
    t.equal(snapshots.stats.saved, 1)
    await pass(retryMs)
    await saved(2)
    const [, second = ''] = await files()
    t.equal(second, 'muster-s1-20261122T140000Z-2.snap')
    const { mode, size } = await stat(join(folder, second))
    t.equal(mode & 0o777, 0o600)
    t.equal((await stat(folder)).mode & 0o777, 0o700)
    t.same(snapshots.stats, {
      saved: 2,
      failed: 0,
      newest: { createdMs: Date.UTC(2026, 10, 22, 14), bytes: size },
    })
    const parts: string[] = []
    for await (const { type } of readArchive(all([await readFile(join(folder, second))]))) {
      parts.push(type)
    }
    t.same(parts, ['header', 'block', 'trailer'])
  },
)

void t.test('the newest are kept, and what others put there is left alone', async (t) => {
  const { folder, start, clock, saved, files } = scheduled(t, { retain: 2 })
  const others = [
    'before-the-upgrade.snap',
    'muster-s1-20261122T133000Z-1.snap.gz',
    'muster-s10-20200101T000000Z-1.snap',
    'muster-s2-20200101T000000Z-1.snap',
  ]
  await mkdir(folder)
  for (const name of others) await writeFile(join(folder, name), '')
  await writeFile(join(folder, 'muster-s1-partial'), 'of a crash')
  start()
  for (let count = 1; count <= 4; count += 1) {
    await saved(count)
    clock.advance(hourMs)
  }
  await saved(5)
  t.same(
    await files(),
    [...others, 'muster-s1-20261122T163000Z-4.snap', 'muster-s1-20261122T173000Z-5.snap'].sort(
      (a, b) => a.localeCompare(b),
    ),
  )
})

void t.test('a restart saves only what was missed', async (t) => {
  const { snapshots, start, open, clock, saved, files } = scheduled(t)
  start()
  await saved(1)
  await snapshots.stop()
  const second = open()
  second.start()
  clock.advance(0)
  await eventually(
    'the file is found',
    async () => second.stats.newest?.createdMs === startMs || undefined,
  )
  t.equal((await files()).length, 1, 'it is of this hour')
  await second.stop()
  clock.advance(5 * hourMs)
  const third = open()
  third.start()
  clock.advance(0)
  await eventually('one is made up for', async () => third.stats.saved === 1 || undefined)
  t.equal((await files()).length, 2)
})

void t.test(
  'a server that cannot tell whether it is up to date saves nothing, and tries again',
  async (t) => {
    let fails = true
    const { start, pass, errors, saved, files, snapshots } = scheduled(t, {
      archive: async () => {
        if (fails) throw new Error('no leader')
        return archiveAt(9)
      },
    })
    start()
    await eventually('it failed', async () => snapshots.stats.failed === 1 || undefined)
    t.same(await files(), [])
    t.match(errors[0], /tried again.*no leader/)
    fails = false
    await pass(retryMs)
    await saved(1)
    t.same(await files(), ['muster-s1-20261122T133100Z-9.snap'])
  },
)

void t.test('a save that would fill the disk is given up and leaves nothing', async (t) => {
  let free = freeBytesMin - 1
  const { start, pass, saved, files, snapshots, errors } = scheduled(t, {
    freeBytes: async () => free,
  })
  start()
  await eventually('it failed', async () => snapshots.stats.failed === 1 || undefined)
  t.same(await files(), [])
  t.match(errors[0], /bytes are free/)
  free = freeBytesMin
  await pass(retryMs)
  await saved(1)
})

void t.test('a damaged file gets no name', async (t) => {
  const { start, files, snapshots, errors } = scheduled(t, {
    async archive() {
      const parts: Uint8Array[] = []
      for await (const part of archiveAt(1)) parts.push(part)
      const whole = Buffer.concat(parts)
      whole[whole.length - 10] = (whole[whole.length - 10] ?? 0) ^ 1
      return all([whole])
    },
  })
  start()
  await eventually('it failed', async () => snapshots.stats.failed === 1 || undefined)
  t.same(await files(), [])
  t.match(errors[0], /damaged/)
})

void t.test('a stop gives up the save that is under way', async (t) => {
  const { start, files, snapshots, errors } = scheduled(t, {
    archive: (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')))
      }),
  })
  start()
  await new Promise((resolve) => setImmediate(resolve))
  await snapshots.stop()
  t.same(await files(), [])
  t.same(errors, [], 'nobody is told of a failure')
})

void t.test('a file of the future counts for nothing until its time has come', async (t) => {
  const { folder, start, pass, saved, files, snapshots, errors } = scheduled(t, { retain: 2 })
  const future = 'muster-s1-20261122T160500Z-77.snap'
  await mkdir(folder)
  await writeFile(join(folder, future), '')
  start()
  await saved(1)
  t.same(await files(), ['muster-s1-20261122T133000Z-1.snap', future])
  // A look each minute: none is due before the hour.
  for (let minute = 1; minute < 30; minute += 1) {
    await pass(retryMs)
    await saved(1)
  }
  await pass(retryMs)
  await saved(2)
  t.equal(snapshots.stats.newest?.createdMs, Date.UTC(2026, 10, 22, 14))
  await pass(hourMs)
  await saved(3)
  t.same(
    await files(),
    ['muster-s1-20261122T140000Z-2.snap', 'muster-s1-20261122T150000Z-3.snap', future],
    'it takes the place of none that are kept',
  )
  await pass(hourMs)
  await saved(4)
  await pass(hourMs)
  await saved(5)
  t.same(
    await files(),
    ['muster-s1-20261122T160500Z-77.snap', 'muster-s1-20261122T170000Z-5.snap'],
    'from then on it is one of them',
  )
  await pass(hourMs)
  await saved(6)
  t.notMatch(await files(), [future], 'and goes as the others do')
  t.same(errors, [])
})
