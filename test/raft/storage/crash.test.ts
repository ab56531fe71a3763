/**
 * Crashes at any operation of the disk: what was acknowledged is there afterwards, what was under way is there as a
 * whole or not at all, and nothing else is.
 */
import t from 'tap'
import { assert } from '../../../src/lib/assert.ts'
import type { Random } from '../../../src/lib/random.ts'
import { emptySnapshot } from '../../../src/raft/storage/log-map.ts'
import type { LogStore } from '../../../src/raft/storage/log-store.ts'
import { SimDisk } from '../../sim/disk.ts'
import { happens, integer, pick, streamOf } from '../../sim/randomness.ts'
import {
  append,
  configuration,
  configurationEntry,
  entries,
  entry,
  hardState,
  openOn,
  overwrite,
  snapshotMeta,
  vote,
  type Opened,
} from './harness.ts'
import { after, emptyModel, judge, perform, snapshotAt, text, withBase } from './model.ts'
import type { Model, Step } from './model.ts'
import { seedRanges } from '../../support/randomness.ts'

/** One disk through several lives, and what is known about it. */
class Run {
  readonly sim = new SimDisk()
  /** What may be durable: one model, or two while a step is under way. */
  possible: Model[] = [emptyModel]
  /** How far a compaction that did not end may have come. */
  baseMax = 0
  /** No truncation goes below what was given to a compaction. */
  committed = 0
  restarts = 0

  get model(): Model {
    const [model] = this.possible
    assert(model !== undefined, 'there is a model')
    return model
  }

  async open(): Promise<Opened> {
    const opened = await openOn(this.sim)
    const { recovered } = opened
    const verdicts = this.possible.map((model) => judge(model, recovered, this.baseMax))
    const found = this.possible[verdicts.indexOf(null)]
    assert(found !== undefined, verdicts.join('\nor: '))
    this.possible = [withBase(found, recovered.snapshot.index)]
    this.committed = Math.max(recovered.snapshot.index, Math.min(this.committed, found.lastIndex))
    this.baseMax = 0
    this.restarts++
    return opened
  }

  async step(store: LogStore, step: Step): Promise<void> {
    const before = this.model
    this.possible = [before, after(before, step)]
    if (step.type === 'compact') this.baseMax = this.committed = step.snapshot.index
    const result = await perform(store, step)
    this.possible.shift()
    if (step.type === 'reset') this.committed = step.snapshot.index
    if (step.type !== 'compact') return
    this.baseMax = 0
    this.possible = [withBase(before, (result as { baseIndex: number }).baseIndex)]
  }
}

/** The power fails, or the process is killed, before the operation of this number. */
function breakAt(sim: SimDisk, operation: number, random: Random): void {
  let left = operation
  sim.onOperation = () => {
    if (left-- > 0) return
    sim.onOperation = () => undefined
    if (happens(random, 0.8)) sim.crash(random)
    else sim.kill()
  }
}

async function isBroken(work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return false
  } catch (error) {
    // Only the disk failing or going away may end a life; a wrong answer or damage ends the test.
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'unavailable' || code === 'EIO') return true
    throw error
  }
}

function someWrites(random: Random, run: Run): Step {
  let { lastIndex } = run.model
  let term = Math.max(run.model.hardState.term, 1)
  const writes = Array.from({ length: integer(random, 1, 3) }, () => {
    if (happens(random, 0.2)) term++
    const from =
      happens(random, 0.3) && lastIndex > run.committed
        ? integer(random, run.committed + 1, lastIndex)
        : lastIndex + 1
    const added = Array.from({ length: integer(random, 0, 5) }, (_, at) => {
      const index = from + at
      if (happens(random, 0.05)) return configurationEntry(index, term, `s${index}-${term}`)
      if (happens(random, 0.1)) return entry(index, term, '', 'noop')
      const dataBytes = happens(random, 0.02)
        ? integer(random, 3000, 9000)
        : integer(random, 0, 400)
      return entry(index, term, Buffer.alloc(dataBytes, `${index}:${term} `))
    })
    const cut = from <= lastIndex || happens(random, 0.1)
    lastIndex = from + added.length - 1
    const votedFor = happens(random, 0.3) ? null : pick(random, ['s1', 's2'])
    const state = hardState(term, votedFor, run.committed)
    return {
      truncateFrom: cut ? from : null,
      entries: added,
      hardState: happens(random, 0.5) || term > run.model.hardState.term ? state : null,
    }
  })
  return { type: 'write', writes }
}

function someStep(random: Random, run: Run): Step {
  const { model } = run
  if (happens(random, 0.12) && model.lastIndex > run.committed) {
    const index = integer(random, run.committed, model.lastIndex)
    return { type: 'compact', snapshot: snapshotAt(model, index) }
  }
  if (happens(random, 0.02)) {
    const term = model.hardState.term + 1
    const index = integer(random, run.committed + 1, model.lastIndex + 50)
    const snapshot = snapshotMeta(index, term, index - 1, configuration(`r${index}`))
    return { type: 'reset', snapshot, hardState: hardState(term, null, index) }
  }
  return someWrites(random, run)
}

async function checkRead(store: LogStore, model: Model, random: Random): Promise<void> {
  if (model.lastIndex === model.base.index) return
  const from = integer(random, model.base.index + 1, model.lastIndex)
  const to = integer(random, from, model.lastIndex)
  const read = await store.read(from, to, integer(random, 0, 3000))
  assert(read.length > 0, 'a read gives an entry')
  for (const [at, found] of read.entries()) {
    const expected = model.entries.get(from + at)
    assert(expected !== undefined && text(found) === text(expected), `entry ${from + at} is right`)
  }
}

async function randomRun(seed: number): Promise<Run> {
  const random = streamOf(seed, 'crashes')
  const run = new Run()
  for (let life = 0; life < 6; life++) {
    breakAt(run.sim, integer(random, 0, 120), random)
    if (happens(random, 0.05)) run.sim.failNextSync()
    const broken = await isBroken(async () => {
      const { store } = await run.open()
      for (let count = integer(random, 0, 30); count > 0; count--) {
        if (happens(random, 0.02)) run.sim.failNextSync()
        const step = someStep(random, run)
        const reading = checkRead(store, run.model, random)
        // A failure of the step is the one to see; both end with the disk.
        const [stepped, read] = await Promise.allSettled([run.step(store, step), reading])
        if (stepped.status === 'rejected') throw stepped.reason
        if (read.status === 'rejected') throw read.reason
      }
      if (happens(random, 0.3)) await store.close()
    })
    if (!broken || happens(random, 0.5)) run.sim.crash(random)
    else run.sim.kill()
  }
  run.sim.onOperation = () => undefined
  const { store } = await run.open()
  await store.close()
  return run
}

/** Each is seven lives. More, or one of them again: CRASH_SEEDS=first-last. */
for (const [first, last] of seedRanges('CRASH_SEEDS', { gate: 200, long: 300 })) {
  await t.test(`random schedules of writes and crashes, seeds ${first} to ${last}`, async (t) => {
    let longest = 0
    for (let seed = first; seed <= last; seed++) {
      try {
        const run = await randomRun(seed)
        longest = Math.max(longest, run.model.lastIndex)
      } catch (error) {
        t.fail(`seed ${seed}: ${error instanceof Error ? error.stack : String(error)}`)
        return
      }
    }
    t.ok(longest > 100, 'the schedules come somewhere')
  })
}

await t.test('what a failed sync did not cut off is cut off by the next start', async (t) => {
  // The sync of the cut fails, the process is killed, and the power fails while the next frame is written in that place.
  const run = await randomRun(703_364_016)
  t.ok(run.restarts > 3)
})

await t.test(
  'a name that a killed process did not sync is synced before the file is used',
  async (t) => {
    for (let luck = 0; luck < 10; luck++) {
      const run = new Run()
      let renames = 0
      run.sim.onOperation = ({ type }) => {
        if (type === 'rename') renames++
        if (type === 'syncFolder' && renames === 2) run.sim.kill()
      }
      // The second segment is prepared while the first is written to.
      await isBroken(async () => {
        const { store } = await run.open()
        for (let index = 1; ; index++) {
          await run.step(store, { type: 'write', writes: [append(entry(index, 1))] })
        }
      })
      t.equal(renames, 2)
      run.sim.onOperation = () => undefined
      const { store } = await run.open()
      const from = run.model.lastIndex + 1
      const writes = [append(...entries(from, from + 1, 1, 2500))]
      // So large that it goes to the second segment; the power fails as soon as it is acknowledged.
      await run.step(store, { type: 'write', writes })
      run.sim.crash(streamOf(luck, 'names'))
      await (await run.open()).store.close()
    }
  },
)

/** Scripts short enough to crash at every single operation, several times with other luck. */
const scripts: Readonly<Record<string, readonly Step[]>> = {
  'appending across segments': [1, 9, 17, 25].map((from) => ({
    type: 'write',
    writes: [append(...entries(from, from + 7, 1, 200)), vote(hardState(from, 's1'))],
  })),
  'compaction of several segments': [
    { type: 'write', writes: [append(configurationEntry(1, 1, 's1'), ...entries(2, 18, 1, 200))] },
    {
      type: 'write',
      writes: [append(configurationEntry(19, 1, 's2'), ...entries(20, 36, 1, 200))],
    },
    { type: 'write', writes: [overwrite(...entries(30, 36, 2, 200))] },
    { type: 'write', writes: [append(...entries(37, 54, 2, 200))] },
    { type: 'compact', snapshot: snapshotMeta(40, 2, 19, configuration('s2')) },
    { type: 'write', writes: [append(entry(55, 3)), vote(hardState(3))] },
  ],
  'a reset over several segments': [
    { type: 'write', writes: [append(...entries(1, 17, 1, 200))] },
    { type: 'write', writes: [append(...entries(18, 34, 1, 200)), vote(hardState(1, 's1'))] },
    { type: 'reset', snapshot: snapshotMeta(90, 3, 80), hardState: hardState(4, 's2', 90) },
    { type: 'write', writes: [append(...entries(91, 100, 4, 200))] },
  ],
  'a frame larger than a segment': [
    { type: 'write', writes: [append(entry(1, 1))] },
    { type: 'write', writes: [append(...entries(2, 40, 1, 300))] },
    { type: 'write', writes: [append(...entries(41, 42, 1, 300))] },
  ],
  'everything overwritten, then compacted': [
    { type: 'write', writes: [append(...entries(1, 17, 1, 200))] },
    { type: 'write', writes: [append(...entries(18, 34, 1, 200))] },
    { type: 'write', writes: [overwrite(...entries(1, 17, 2, 200))] },
    { type: 'write', writes: [append(...entries(18, 34, 2, 200))] },
    { type: 'compact', snapshot: { ...emptySnapshot, index: 17, term: 2 } },
  ],
}

for (const [name, script] of Object.entries(scripts)) {
  await t.test(`a crash between any two operations of ${name}`, async (t) => {
    let operation = 0
    for (let finished = 0; finished < 6; operation++) {
      finished = 0
      for (let luck = 0; luck < 6; luck++) {
        const random = streamOf(operation * 6 + luck, name)
        const run = new Run()
        breakAt(run.sim, operation, random)
        try {
          const broken = await isBroken(async () => {
            const { store } = await run.open()
            for (const step of script) await run.step(store, step)
            await store.close()
          })
          if (!broken) finished++
          run.sim.onOperation = () => undefined
          const { store } = await run.open()
          // What was found must be as durable as what was acknowledged.
          run.sim.crash(random)
          await store.close().catch(() => undefined)
          await (await run.open()).store.close()
        } catch (error) {
          t.fail(`operation ${operation}, luck ${luck}: ${String(error)}`)
          return
        }
      }
    }
    t.ok(operation > 20, `${operation} operations`)
  })
}
