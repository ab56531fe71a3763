/**
 * Stands between the node and its log store, and keeps what the store confirmed: the picture of the disk that the
 * judges go by. The picture outlives the process, as the disk does.
 */
import { crc32 } from 'node:zlib'
import { present } from '../../src/lib/assert.ts'
import type {
  Entry,
  HardState,
  LogIndex,
  ServerId,
  SnapshotMeta,
  Term,
} from '../../src/raft/core/message.ts'
import type { LogStore, LogWrite, RecoveredLog } from '../../src/raft/storage/log-store.ts'
import { checkRecovery, type UnconfirmedWrite } from './checkers/recovery.ts'
import type { DiskImage, EntryMark, Report } from './checkers/rule.ts'

export function digestOf(entry: Pick<Entry, 'kind' | 'data'>): string {
  return `${entry.kind}:${entry.data.length}:${crc32(entry.data).toString(16)}`
}

export class LogImage implements DiskImage {
  baseIndex: LogIndex = 0
  baseTerm: Term = 0
  lastIndex: LogIndex = 0
  term: Term = 0
  votedFor: ServerId | null = null
  unconfirmed: UnconfirmedWrite[] = []
  readonly #marks = new Map<LogIndex, EntryMark>()

  markAt(index: LogIndex): EntryMark | undefined {
    return this.#marks.get(index)
  }

  termAt(index: LogIndex): Term | undefined {
    return index === this.baseIndex ? this.baseTerm : this.#marks.get(index)?.term
  }

  put(index: LogIndex, mark: EntryMark): void {
    this.#marks.set(index, mark)
    this.lastIndex = index
  }

  cut(from: LogIndex): void {
    for (let index = from; index <= this.lastIndex; index += 1) this.#marks.delete(index)
    this.lastIndex = Math.min(this.lastIndex, from - 1)
  }

  compact(baseIndex: LogIndex, baseTerm: Term): void {
    for (let index = this.baseIndex; index <= baseIndex; index += 1) this.#marks.delete(index)
    this.baseIndex = baseIndex
    this.baseTerm = baseTerm
  }

  reset(index: LogIndex, term: Term): void {
    this.#marks.clear()
    this.baseIndex = index
    this.baseTerm = term
    this.lastIndex = index
  }

  vote({ term, votedFor }: Pick<HardState, 'term' | 'votedFor'>): void {
    this.term = term
    this.votedFor = votedFor
  }
}

export type LogWatch = {
  /** These entries are on the disk of this server now. */
  wrote(index: LogIndex, mark: EntryMark, previousTerm: Term): void
  truncated(from: LogIndex, lastIndex: LogIndex): void
  compacted(): void
  /** The log starts over behind a snapshot. */
  restarted(snapshot: SnapshotMeta, disk: DiskImage): void
  /** A crash took entries that were being written. */
  lost(): void
  readonly report: Report
}

/** Entries of one read while a start is checked. */
const readBytesMax = 1 << 20

export class ObservedLog implements LogStore {
  readonly #store: LogStore
  readonly #server: ServerId
  readonly #watch: LogWatch
  readonly #image: LogImage

  private constructor(store: LogStore, server: ServerId, image: LogImage, watch: LogWatch) {
    this.#store = store
    this.#server = server
    this.#image = image
    this.#watch = watch
  }

  /** Compares what was found with what was confirmed to the life before. The found log's picture takes its place. */
  static async recovered(
    { store, recovered }: { readonly store: LogStore; readonly recovered: RecoveredLog },
    server: ServerId,
    before: LogImage,
    watch: LogWatch,
  ): Promise<{ readonly log: ObservedLog; readonly image: LogImage }> {
    const { snapshot, hardState, lastIndex } = recovered
    const image = new LogImage()
    image.reset(snapshot.index, snapshot.term)
    image.vote(hardState)
    for (let from = snapshot.index + 1; from <= lastIndex;) {
      for (const entry of await store.read(from, lastIndex, readBytesMax)) {
        const mark = { term: entry.term, digest: digestOf(entry) }
        const previousTerm = present(image.termAt(entry.index - 1), 'the term before')
        watch.wrote(entry.index, mark, previousTerm)
        image.put(entry.index, mark)
        from = entry.index + 1
      }
    }
    const promised = before.unconfirmed.flatMap(({ marks }) => [...marks.keys()])
    if (promised.some((index) => index > lastIndex)) watch.lost()
    checkRecovery(watch.report, server, before, before.unconfirmed, image)
    return { log: new ObservedLog(store, server, image, watch), image }
  }

  async write(writes: readonly LogWrite[]): Promise<void> {
    const image = this.#image
    const begun = writes.map(unconfirmedOf)
    image.unconfirmed.push(...begun)
    await this.#store.write(writes)
    image.unconfirmed = image.unconfirmed.filter((write) => !begun.includes(write))
    for (const { truncateFrom, entries, hardState } of writes) {
      if (truncateFrom !== null) {
        this.#watch.truncated(truncateFrom, image.lastIndex)
        image.cut(truncateFrom)
      }
      for (const entry of entries) {
        const mark = { term: entry.term, digest: digestOf(entry) }
        this.#watch.wrote(entry.index, mark, image.termAt(entry.index - 1) ?? -1)
        image.put(entry.index, mark)
      }
      if (hardState !== null) image.vote(hardState)
    }
  }

  async read(from: LogIndex, to: LogIndex, bytesMax: number): Promise<readonly Entry[]> {
    const before = []
    for (let index = from; index <= to; index += 1) before.push(this.#image.markAt(index))
    const entries = await this.#store.read(from, to, bytesMax)
    for (const [i, entry] of entries.entries()) {
      // A cut may have come meanwhile, or a compaction.
      const same = [before[i], this.#image.markAt(entry.index)].some(
        (mark) =>
          mark === undefined || (mark.term === entry.term && mark.digest === digestOf(entry)),
      )
      if (entry.index === from + i && same) continue
      this.#watch.report({
        rule: 'a log store gives back what it was given',
        text: `${this.#server} reads ${entry.index}/${entry.term} at ${from + i}`,
      })
    }
    return entries
  }

  async compact(snapshot: SnapshotMeta) {
    const base = await this.#store.compact(snapshot)
    if (base.baseIndex > this.#image.baseIndex) this.#watch.compacted()
    this.#image.compact(base.baseIndex, base.baseTerm)
    return base
  }

  async reset(snapshot: SnapshotMeta, hardState: HardState): Promise<void> {
    const begun: UnconfirmedWrite = { truncateFrom: 0, marks: new Map(), vote: hardState }
    this.#image.unconfirmed.push(begun)
    await this.#store.reset(snapshot, hardState)
    this.#image.unconfirmed = this.#image.unconfirmed.filter((write) => write !== begun)
    this.#watch.restarted(snapshot, this.#image)
    this.#image.reset(snapshot.index, snapshot.term)
    this.#image.vote(hardState)
  }

  stats() {
    return this.#store.stats()
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}

function unconfirmedOf({ truncateFrom, entries, hardState }: LogWrite): UnconfirmedWrite {
  return {
    truncateFrom,
    marks: new Map(entries.map((e) => [e.index, { term: e.term, digest: digestOf(e) }])),
    vote: hardState,
  }
}
