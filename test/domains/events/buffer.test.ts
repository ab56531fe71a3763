/** What is kept of the last changes: its bounds, where readers find their place, and how they wait. */
import t, { type Test } from 'tap'
import {
  EventBuffer,
  rowOverheadBytes,
  type EventBufferLimits,
  type KeptEntry,
} from '../../../src/domains/events/buffer.ts'
import type { ChangedEntry, ChangesListener } from '../../../src/fsm/domain.ts'
import { present } from '../../../src/lib/assert.ts'
import { systemClock } from '../../../src/lib/clock.ts'

/** Says what was applied, in the machine's stead. */
class Source {
  appliedIndex: number
  #listener: ChangesListener | null = null

  constructor(appliedIndex: number) {
    this.appliedIndex = appliedIndex
  }

  onChanges(_tables: readonly string[], listener: ChangesListener): () => void {
    this.#listener = listener
    return () => {
      this.#listener = null
    }
  }

  /** The next entries, each with this many changes. */
  apply(...counts: readonly number[]): void {
    const entries: ChangedEntry[] = []
    for (const count of counts) {
      this.appliedIndex += 1
      const index = this.appliedIndex
      const row = { table: 'things', removed: false, packed: Buffer.alloc(100, index) }
      if (count > 0) entries.push({ index, rows: Array.from({ length: count }, () => row) })
    }
    this.#listener?.(entries, this.appliedIndex)
  }

  unpackRow(packed: Uint8Array): unknown {
    return packed[0]
  }

  replace(appliedIndex: number): void {
    this.appliedIndex = appliedIndex
    this.#listener?.(null, appliedIndex)
  }
}

function bufferAt(t: Test, index: number, limits: Partial<EventBufferLimits> = {}) {
  const source = new Source(index)
  const buffer = new EventBuffer(source, ['things'], systemClock, {
    eventsMax: 1_000,
    bytesMax: 1_000_000,
    readersMax: 2,
    ...limits,
  })
  t.teardown(() => buffer.close())
  return { source, buffer }
}

const first = (buffer: EventBuffer, from: number): number | null =>
  buffer.entries(from, Infinity, 1)[0]?.index ?? null

const wait = (buffer: EventBuffer, index: number, delayMs = 60_000, stop = new AbortController()) =>
  buffer.wait(index, delayMs, stop.signal)

void t.test('a reader finds the first entry at its index or after it', async (t) => {
  const { source, buffer } = bufferAt(t, 10)
  source.apply(1, 0, 2, 0)
  const table: [from: number, found: number | null][] = [
    [1, 11],
    [11, 11],
    [12, 13],
    [13, 13],
    [14, null],
    [99, null],
  ]
  for (const [from, found] of table) t.equal(first(buffer, from), found)
  t.equal(buffer.firstIndex, 11)
  t.equal(buffer.appliedIndex, 14)
  const indexes = (upTo: number, entriesMax: number) =>
    buffer.entries(1, upTo, entriesMax).map(({ index }) => index)
  t.same(indexes(99, 9), [11, 13])
  t.same(indexes(99, 1), [11])
  t.same(indexes(12, 9), [11])
})

void t.test('the oldest entries go, whole, when there are too many changes', async (t) => {
  const { source, buffer } = bufferAt(t, 0, { eventsMax: 5 })
  source.apply(3, 2)
  t.equal(buffer.firstIndex, 1)
  source.apply(1)
  t.equal(buffer.firstIndex, 2)
  t.equal(first(buffer, 1), 2)
  t.match(buffer.stats(), { events: 3, bytes: 3 * (100 + rowOverheadBytes) })
})

void t.test('and when they take too much memory', async (t) => {
  const { source, buffer } = bufferAt(t, 0, { bytesMax: 4 * (100 + rowOverheadBytes) })
  source.apply(1, 1, 1, 1, 1, 1)
  t.equal(buffer.firstIndex, 3)
  t.equal(buffer.stats().events, 4)
})

void t.test(
  'an entry that is too large for all bounds is not kept, nor what was before it',
  async (t) => {
    const { source, buffer } = bufferAt(t, 0, { eventsMax: 5 })
    source.apply(1, 6)
    t.equal(buffer.firstIndex, 3)
    t.match(buffer.stats(), { events: 0, bytes: 0 })
    source.apply(1)
    t.equal(first(buffer, 3), 3)
  },
)

void t.test('a reader is given the rows as they were told, and may keep them', async (t) => {
  const changes = new Map([
    [1, ['+things one', '-others two']],
    [2, ['+others three']],
  ])
  const limits = { eventsMax: 2, bytesMax: 1_000, readersMax: 1 }
  let tell: ChangesListener | null = null
  const source = {
    appliedIndex: 0,
    onChanges: (_tables: readonly string[], listener: ChangesListener) => {
      tell = listener
      return () => {}
    },
    unpackRow: (packed: Uint8Array) => Buffer.from(packed).toString(),
  }
  const buffer = new EventBuffer(source, ['things', 'others'], systemClock, limits)
  t.teardown(() => buffer.close())
  const listener = present<ChangesListener>(tell, 'the listener')
  const kept: KeptEntry[] = []
  for (const [index, texts] of changes) {
    const rows = texts.map((text) => {
      const [name = '', row = ''] = text.slice(1).split(' ')
      return { table: name, removed: text.startsWith('-'), packed: Buffer.from(row) }
    })
    listener([{ index, rows }], index)
    kept.push(...buffer.entries(index, index, 9))
  }
  t.equal(buffer.firstIndex, 2, 'the first entry went')
  const shown = kept.map(({ index, rows }) => [
    index,
    rows.map((row) => `${row.removed ? '-' : '+'}${row.table} ${String(row.row())}`),
  ])
  t.same(shown, [...changes])
  t.equal(new Set(kept.flatMap(({ rows }) => rows.map(({ id }) => id))).size, 3)
})

void t.test('places stay right for as long as it goes on', async (t) => {
  const { source, buffer } = bufferAt(t, 0, { eventsMax: 100 })
  for (let at = 0; at < 10_000; at += 1) source.apply(1)
  t.equal(buffer.firstIndex, 9_901)
  for (const index of [9_901, 9_950, 10_000]) t.equal(first(buffer, index), index)
  t.equal(first(buffer, 10_001), null)
})

void t.test('nothing is kept of a state that another one took the place of', async (t) => {
  const { source, buffer } = bufferAt(t, 0)
  source.apply(1, 1)
  source.replace(50)
  t.equal(buffer.firstIndex, 51)
  t.equal(first(buffer, 1), null)
})

void t.test('a reader waits until there is something, or something was lost', async (t) => {
  const { source, buffer } = bufferAt(t, 0)
  const early = wait(buffer, 1)
  source.apply(0)
  source.apply(1)
  t.equal(await early, true)
  t.equal(await wait(buffer, 2), true, 'there is something already')
  const second = wait(buffer, 3)
  source.replace(9)
  t.equal(await second, true)
  t.equal(await wait(buffer, 3), true, 'that was lost already')
})

void t.test('a wait ends with its time, and with its reader', async (t) => {
  const { buffer } = bufferAt(t, 0)
  t.equal(await wait(buffer, 1, 1), false)
  const stop = new AbortController()
  const waiting = wait(buffer, 1, 60_000, stop)
  stop.abort()
  t.equal(await waiting, false)
  t.equal(await wait(buffer, 1, 60_000, stop), false)
})

void t.test('whoever waits while others are woken is not forgotten', async (t) => {
  const { source, buffer } = bufferAt(t, 0)
  const early = Array.from({ length: 200 }, () => wait(buffer, 1))
  source.apply(1)
  // Some of them are woken in this turn; others, who wait for what comes next, come in between.
  await early[0]
  const late = Array.from({ length: 50 }, () => wait(buffer, 2))
  source.apply(1)
  t.ok((await Promise.all([...early, ...late])).every(Boolean))
})

const operator = { accessor: null, address: '127.0.0.1', operator: true }

void t.test('readers are counted, those that come too late too', async (t) => {
  const { source, buffer } = bufferAt(t, 0, { eventsMax: 1 })
  const leave = buffer.join(operator)
  buffer.join(operator)
  t.throws(() => buffer.join(operator), { code: 'overloaded' })
  leave()
  buffer.join(operator)
  source.apply(1, 1)
  buffer.assertKept(2)
  t.throws(() => buffer.assertKept(1), { code: 'gone' })
  t.match(buffer.stats(), { readers: 2, behind: 1 })
})

void t.test('nobody is left waiting when it is closed', async (t) => {
  const { buffer } = bufferAt(t, 0)
  const waiting = wait(buffer, 1)
  buffer.close()
  await waiting
})
