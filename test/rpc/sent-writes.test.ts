/** What a server learns of a write it sent, whatever the leaders, the network and snapshots do meanwhile. */
import fc from '../support/fast-check.ts'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { SentWrites, type Fate } from '../../src/rpc/sent-writes.ts'
import { manualClock } from '../support/manual-clock.ts'
import { ToldWrites } from '../support/named-writes.ts'

const unending = new AbortController().signal
const farMs = systemClock.monotonicMs() + 600_000

type Entry = { readonly term: number; readonly name: string | null }

/** A state machine that applies entries of a log, or skips some. */
class AppliedLog extends ToldWrites {
  appliedIndex = 0

  apply(entries: readonly Entry[]): void {
    for (const { term, name } of entries) {
      this.appliedIndex += 1
      this.appliedTerm = term
      if (name !== null) {
        this.tellNamed({ name, type: 'put', index: this.appliedIndex, outcome: name })
      }
    }
    this.tellApplied()
  }

  install(entries: readonly Entry[]): void {
    this.appliedIndex += entries.length
    this.installedIndex = this.appliedIndex
    this.appliedTerm = entries.at(-1)?.term ?? this.appliedTerm
    this.tellApplied()
  }
}

function started(t: Test, clock = systemClock) {
  const applied = new AppliedLog()
  const sent = new SentWrites({ applied, clock, prefix: 'p' })
  t.teardown(() => sent.stop())
  const begin = () => {
    const write = sent.begin()
    if (write === null) throw new Error('the cluster knows names')
    return write
  }
  return { applied, sent, begin }
}

void t.test('a write that was applied here has its outcome', async (t) => {
  const { applied, sent, begin } = started(t)
  const [write, early] = [begin(), begin()]
  applied.apply([{ term: 1, name: early.name }])
  const [fate, known] = [write.fate(1, farMs, unending), early.fate(1, farMs, unending)]
  applied.apply([
    { term: 1, name: null },
    { term: 1, name: write.name },
  ])
  t.match(await known, { type: 'applied', parts: [{ index: 1, outcome: early.name }] })
  t.match(await fate, { type: 'applied', parts: [{ index: 3, type: 'put', outcome: write.name }] })
  t.same(sent.fates, { applied: 2, void: 0, unknown: 0 })
  for (const ended of [write, early]) ended.end()
  t.equal(sent.size, 0, 'nothing is kept of what has ended')
})

void t.test('a later term says that it never will be, the same term says nothing', async (t) => {
  const { applied, begin } = started(t)
  const write = begin()
  let fate: Fate | null = null
  const done = write.fate(2, farMs, unending).then((known) => (fate = known))
  applied.apply([{ term: 2, name: 'of another' }])
  await new Promise(setImmediate)
  t.equal(fate, null)
  applied.apply([{ term: 3, name: null }])
  t.same(await done, { type: 'void' })
})

void t.test('it is unknown after entries were skipped, and at the deadline', async (t) => {
  const clock = manualClock()
  const { applied, begin } = started(t, clock)
  const [skipped, late] = [begin(), begin()]
  applied.install([{ term: 5, name: skipped.name }])
  t.same(await skipped.fate(1, farMs, unending), { type: 'unknown' })
  const after = begin()
  const fate = after.fate(5, 1_000, unending)
  t.same(await late.fate(5, 1_000, unending), { type: 'unknown' }, 'it was sent before')
  clock.advance(1_000)
  t.same(await fate, { type: 'unknown' })
  const gone = begin()
  const abort = new AbortController()
  const rejected = t.rejects(gone.fate(5, 1_000, abort.signal), { code: 'cancelled' })
  abort.abort()
  await rejected
})

void t.test('while a server may know no names, none are given', (t) => {
  const { applied, sent } = started(t)
  applied.commandVersion = 2
  t.equal(sent.begin(), null)
  t.end()
})

/**
 * One follower, leaders that come and go, and a network that delivers requests late, or to a leader that is none any more. A
 * leader appends a write only in the term it names; a new one keeps what is committed and any part of the rest.
 */
class Model {
  readonly applied = new AppliedLog()
  readonly sent = new SentWrites({ applied: this.applied, clock: systemClock, prefix: 'p' })
  log: Entry[] = []
  committed = 0
  term = 1
  readonly underWay: { readonly name: string; readonly term: number }[] = []
  /** Names that each request had, by request. */
  readonly requests: string[][] = []
  readonly told = new Map<number, Fate>()
  readonly #settling: Promise<void>[] = []

  send(request = this.requests.push([]) - 1): void {
    const write = this.sent.begin()
    if (write === null) return
    const { term } = this
    this.requests[request]?.push(write.name)
    this.underWay.push({ name: write.name, term })
    const settled = write.fate(term, farMs, unending)
    this.#settling.push(
      settled.then((fate) => {
        write.end()
        if (fate.type === 'void') this.send(request)
        else this.told.set(request, fate)
      }),
    )
  }

  deliver(at: number): void {
    const [write] = this.underWay.splice(at % Math.max(1, this.underWay.length), 1)
    if (write?.term === this.term) this.log.push(write)
  }

  commit(entries: number): void {
    this.committed = Math.min(this.log.length, this.committed + entries)
  }

  elect(kept: number): void {
    this.term += 1
    this.log = this.log.slice(0, this.committed + kept)
    this.log.push({ term: this.term, name: null })
  }

  advance(entries: number, skips: boolean): void {
    const from = this.applied.appliedIndex
    const next = this.log.slice(from, Math.min(from + entries, this.committed))
    if (next.length === 0) return
    if (skips) this.applied.install(next)
    else this.applied.apply(next)
  }

  async end(): Promise<void> {
    for (let waiting = 0; waiting < this.#settling.length;) {
      waiting = this.#settling.length
      while (this.underWay.length > 0) this.deliver(0)
      this.elect(Infinity)
      this.commit(Infinity)
      this.advance(Infinity, false)
      await Promise.all(this.#settling)
    }
    this.sent.stop()
  }
}

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('send' as const) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('deliver' as const), at: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('commit' as const), entries: fc.nat(4) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('elect' as const), kept: fc.nat(4) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('advance' as const),
      entries: fc.nat(4),
      skips: fc.integer({ min: 0, max: 19 }).map((drawn) => drawn === 0),
    }),
  },
)

void t.test('a request takes effect once at most, and what is told of it is so', async (t) => {
  let again = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const model = new Model()
      for (const one of steps) {
        if (one.type === 'send') model.send()
        else if (one.type === 'deliver') model.deliver(one.at)
        else if (one.type === 'commit') model.commit(one.entries)
        else if (one.type === 'elect') model.elect(one.kept)
        else model.advance(one.entries, one.skips)
        await Promise.resolve()
      }
      await model.end()
      for (const [request, names] of model.requests.entries()) {
        const indexes = model.log.flatMap(({ name }, at) =>
          name !== null && names.includes(name) ? [at + 1] : [],
        )
        const told = model.told.get(request)
        if (names.length > 1) again += 1
        if (told?.type === 'applied') {
          if (indexes.length !== 1 || indexes[0] !== told.parts[0]?.index) return false
        } else if (told?.type !== 'unknown' || indexes.length > 1) {
          return false
        }
      }
      return true
    }),
    { numRuns: 1_000 },
  )
  t.ok(again > 100, `${again} requests were sent again`)
})
