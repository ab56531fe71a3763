/**
 * The Raft log on disk. This folder holds the log's contract, its byte format, its files and their recovery; the core knows none of it.
 *
 * The log is a row of segments. One `write` is one frame, one call to the disk, one sync, whichever callers' entries it
 * holds. Nothing that was synced is ever written over: a truncation is a record like any other.
 *
 * Guarded here: at most one frame is not synced at any time (`#turn`), for recovery rests on it; and after the first
 * failure nothing is written any more, for the kernel may have dropped pages it still shows.
 * A write that a full or read-only disk refused is no failure: with a `gate` the same frame is written again to the same
 * place until it is taken, so that whatever part of it is there already is written over with itself. Until then
 * everything else waits its turn. A sync is never tried again, whatever it failed of.
 * While the gate says that the folder is gone, nothing that was written is said to be durable: no start will find it.
 */
import { randomBytes } from 'node:crypto'
import { assert, present } from '../../lib/assert.ts'
import { isRefusal, type DiskGate } from '../../lib/disk-gate.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { configurationAfter } from '../core/membership.ts'
import type {
  Configuration,
  Entry,
  HardState,
  LogIndex,
  SnapshotMeta,
  Term,
} from '../core/message.ts'
import { supersedes } from '../core/succession.ts'
import { nextBase } from './compaction.ts'
import type { Retention } from './compaction.ts'
import type { Disk } from './disk.ts'
import { encodeFrame, frameBytes, frameBytesMax, segmentHeaderBytes } from './frame.ts'
import { LogMap } from './log-map.ts'
import type { LogMark, LogStore, LogWrite, RecoveredLog } from './log-store.ts'
import type { LogRecord } from './record.ts'
import { recover } from './recovery.ts'
import type { Segment } from './segment.ts'
import { SegmentSupply } from './segment-supply.ts'

export type DurableLogOptions = Partial<Retention> & {
  /** Size of new segments; existing ones keep theirs. A larger frame makes its segment grow. */
  readonly segmentBytes?: number
  /** Of entry data that `recovered.tail` holds. */
  readonly tailBytesMax?: number
  /** 32 random bits for each segment. Handed in by the simulator. */
  readonly newSalt?: () => number
  /** Set before the first write. Absent: nothing is said of it. */
  readonly mark?: LogMark
  /** Outlasts a disk that is full or read-only; absent: that is a failure like any other. */
  readonly gate?: DiskGate
}

const MiB = 1024 * 1024
const defaults = {
  segmentBytes: 16 * MiB,
  retainBytes: 64 * MiB,
  retainEntries: 1000,
  tailBytesMax: 8 * MiB,
  newSalt: () => randomBytes(4).readUInt32LE(),
} satisfies Required<Omit<DurableLogOptions, 'gate' | 'mark'>>

/** The buffer that frames are built in is kept up to this size. */
const scratchBytesMax = 4 * MiB

/** The log on disk can do one thing more than its driver needs. */
export type DurableLogStore = LogStore & {
  /**
   * Puts `configuration` in the place of the one that the log begins with; entries stay. For a server that is not
   * running, and a successor (`core/succession.ts`). One record in one frame: after a crash the log has it or not.
   */
  succeed(configuration: Configuration): Promise<void>
  /** False: the file that is written to was deleted, and takes writes all the same. */
  hasFile(): Promise<boolean>
}

/**
 * Opens the log in this folder, or begins one. What `recovered` says is durable.
 * Throws MusterError `corrupt` when acknowledged bytes are lost and `incompatible` for the files of a newer program;
 * both texts name the file. Other errors are the disk's.
 */
export async function openDurableLog(
  disk: Disk,
  options: DurableLogOptions = {},
): Promise<{ readonly store: DurableLogStore; readonly recovered: RecoveredLog }> {
  const settings = { ...defaults, ...options }
  assert(settings.segmentBytes >= 4096, 'a segment holds at least 4096 bytes')
  const map = new LogMap()
  const mark = options.mark ?? null
  const { nextFrame, spares } = await recover(disk, map, { mayBegin: mark === null || !mark.isSet })
  const supply = new SegmentSupply({ disk, ...settings })
  for (const spare of spares) supply.adopt(spare)
  const gate = options.gate ?? null
  const store = new DurableLog({ disk, map, supply, retention: settings, nextFrame, gate, mark })
  try {
    if (map.segments.length > 0 && mark !== null && !mark.isSet) await mark.set()
    return { store, recovered: await store.recovered(settings.tailBytesMax) }
  } catch (error) {
    await store.close().catch(() => undefined)
    throw error
  }
}

class DurableLog implements DurableLogStore {
  readonly #disk: Disk
  readonly #map: LogMap
  readonly #supply: SegmentSupply
  readonly #retention: Retention
  readonly #gate: DiskGate | null
  readonly #mark: LogMark | null
  /** Sequence of the next frame. */
  #nextFrame: number
  #scratch = Buffer.alloc(0)
  /** The last frame's turn: each waits for the one before. Never rejects. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Files of the past, oldest first, that are still to be removed; and the removal under way, which never rejects. */
  readonly #unneeded: Segment[] = []
  #removal: Promise<void> | null = null
  #failure: { readonly cause: unknown } | null = null
  #closed = false

  constructor(parts: {
    disk: Disk
    map: LogMap
    supply: SegmentSupply
    retention: Retention
    nextFrame: number
    gate: DiskGate | null
    mark: LogMark | null
  }) {
    this.#disk = parts.disk
    this.#map = parts.map
    this.#supply = parts.supply
    this.#retention = parts.retention
    this.#nextFrame = parts.nextFrame
    this.#gate = parts.gate
    this.#mark = parts.mark
    this.#prepare()
  }

  /** Ends what a crash interrupted, and tells what the log holds. */
  async recovered(tailBytesMax: number): Promise<RecoveredLog> {
    this.#removeUnneeded()
    await this.#removal
    this.#assertUsable()
    const { base, hardState, lastIndex, termRuns, configurations } = this.#map
    const from = this.#map.tailFrom(tailBytesMax)
    return {
      hardState,
      snapshot: base,
      lastIndex,
      termRuns,
      configurations: [...configurations],
      tail: from > lastIndex ? [] : await this.read(from, lastIndex, tailBytesMax),
    }
  }

  write(writes: readonly LogWrite[]): Promise<void> {
    return this.#inTurn(async () => {
      const records = this.#recordsOf(writes)
      if (records.length > 0) await this.#append(records)
    })
  }

  async read(from: LogIndex, to: LogIndex, bytesMax: number): Promise<readonly Entry[]> {
    this.#assertUsable()
    assert(from > this.#map.base.index, 'what is read is above the base')
    assert(from <= to, 'a read has a first and a last entry')
    assert(to <= this.#map.lastIndex, 'what is read is in the log')
    // All reads are begun here and now: a segment that is removed meanwhile waits for them.
    const parts = this.#map
      .locate(from, to, bytesMax)
      .map(({ segment, first, last }) => segment.read(first, last))
    return (await Promise.all(parts)).flat()
  }

  compact(
    snapshot: SnapshotMeta,
  ): Promise<{ readonly baseIndex: LogIndex; readonly baseTerm: Term }> {
    return this.#inTurn(async () => {
      assert(snapshot.index <= this.#map.lastIndex, 'the state is not ahead of the log')
      // The base is durable before anything below it goes: a crash at any point leaves a log that begins at the
      // old base or at the new one, and in the second case the next start removes what is left below.
      const base = nextBase(this.#map, snapshot, this.#retention)
      if (base !== null) await this.#append([{ type: 'base', base }])
      this.#removeUnneeded()
      return { baseIndex: this.#map.base.index, baseTerm: this.#map.base.term }
    })
  }

  reset(snapshot: SnapshotMeta, hardState: HardState): Promise<void> {
    return this.#inTurn(async () => {
      // The new segment's first record stands for the reset: until it is durable the old log is whole.
      await this.#append([], {
        type: 'checkpoint',
        reset: true,
        base: snapshot,
        hardState,
        lastIndex: snapshot.index,
        lastTerm: snapshot.term,
      })
      this.#removeUnneeded()
    })
  }

  succeed(configuration: Configuration): Promise<void> {
    return this.#inTurn(async () => {
      const { base, configurations } = this.#map
      const current = configurationAfter(base, configurations)
      assert(supersedes(configuration, current), 'it succeeds what is in force')
      await this.#append([{ type: 'base', base: { ...base, configuration } }])
    })
  }

  async hasFile(): Promise<boolean> {
    const last = this.#map.segments.at(-1)
    // What cannot be looked at is being closed, or fails a write.
    const isNamed = (await last?.file.named?.().catch(() => true)) ?? true
    // Another may have taken its place meanwhile.
    return isNamed || last !== this.#map.segments.at(-1)
  }

  /** `bytes` are those of headers and frames; what is preallocated and not used yet does not count. */
  stats(): { readonly bytes: number; readonly segments: number; readonly firstIndex: LogIndex } {
    const { segments, base } = this.#map
    const bytes = segments.reduce((sum, segment) => sum + segment.end, 0)
    return { bytes, segments: segments.length, firstIndex: base.index + 1 }
  }

  /** Waits for the write under way. Frees every file even when one does not close. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#turn
    await this.#removal
    const files = [...this.#unneeded, ...this.#map.segments].map((segment) => segment.close())
    const results = await Promise.allSettled([...files, this.#supply.stop()])
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined && this.#failure === null) throw failed.reason
  }

  #recordsOf(writes: readonly LogWrite[]): LogRecord[] {
    const records: LogRecord[] = []
    let hardState: HardState | null = null
    let last = this.#map.lastIndex
    let lastTerm = this.#map.termAt(last) ?? 0
    for (const write of writes) {
      if (write.truncateFrom !== null && write.truncateFrom <= last) {
        assert(write.truncateFrom > this.#map.base.index, 'what is cut is above the base')
        last = write.truncateFrom - 1
        lastTerm = termInBatch(records, last) ?? this.#map.termAt(last) ?? 0
        records.push({ type: 'truncation', from: write.truncateFrom })
      }
      for (const entry of write.entries) {
        assert(entry.index === last + 1, 'entries follow the last one')
        assert(entry.term >= lastTerm, 'terms do not go back')
        records.push({ type: 'entry', entry })
        last = entry.index
        lastTerm = entry.term
      }
      hardState = write.hardState ?? hardState
    }
    // A frame is there as a whole or not at all: of several states only the last can ever be seen.
    if (hardState !== null) records.push({ type: 'hardState', hardState })
    return records
  }

  /** Writes one frame and syncs it, in a new segment if `reset` is given or there is no room. */
  async #append(records: readonly LogRecord[], reset: LogRecord | null = null): Promise<void> {
    let all = records
    const last = this.#map.segments.at(-1)
    const isNew = last === undefined || reset !== null || last.size - last.end < frameBytes(records)
    if (isNew) all = [reset ?? this.#map.checkpoint(), ...records]
    const bytes = frameBytes(all)
    // A segment that was taken is kept for the next attempt: the frame belongs to it, by its salt.
    let segment = isNew ? null : last
    const attempt = async () => {
      segment ??= await this.#supply.take((last?.sequence ?? 0) + 1)
      // The segment's name is durable: a start that finds the mark finds the segment.
      if (last === undefined) await this.#mark?.set()
      await this.#writeFrame(segment, all, bytes)
    }
    try {
      try {
        await attempt()
      } catch (error) {
        if (this.#gate === null || error instanceof SyncFailure) throw error
        await this.#gate.outlast('log', error, attempt)
      }
      if (isNew) this.#prepare()
    } catch (error) {
      this.#failure ??= { cause: error instanceof SyncFailure ? error.reason : error }
      if (isNew) await segment?.close().catch(() => undefined)
      throw this.#refusal()
    }
  }

  async #writeFrame(segment: Segment, records: readonly LogRecord[], bytes: number): Promise<void> {
    assert(bytes <= frameBytesMax, 'a write is within the bound of a frame')
    const frame = this.#buffer(bytes)
    const start = segment.end
    const sequence = this.#nextFrame
    const offsets = encodeFrame(frame, { sequence, salt: segment.salt, records })
    await segment.file.write(frame, start)
    try {
      await segment.file.sync()
    } catch (error) {
      throw new SyncFailure(error)
    }
    this.#nextFrame++
    segment.end = start + bytes
    segment.size = Math.max(segment.size, segment.end)
    if (start === segmentHeaderBytes) this.#map.segments.push(segment)
    for (const [at, record] of records.entries()) {
      this.#map.apply(record, segment, start + present(offsets[at], 'an offset'))
    }
  }

  #buffer(bytes: number): Buffer {
    if (bytes > scratchBytesMax) return Buffer.allocUnsafeSlow(bytes)
    if (this.#scratch.length < bytes) {
      this.#scratch = Buffer.allocUnsafeSlow(Math.min(scratchBytesMax, bytes * 2))
    }
    return this.#scratch.subarray(0, bytes)
  }

  #prepare(): void {
    this.#supply.prepare((this.#map.segments.at(-1)?.sequence ?? 0) + 1)
  }

  /**
   * Removes the files before the first one that is needed. One at a time with a sync of the folder each: were two
   * removals under way, a crash could undo the first and not the second, and leave a gap that looks like damage.
   */
  #removeUnneeded(): void {
    for (;;) {
      const segment = this.#map.takeUnneeded()
      if (segment === null) break
      this.#unneeded.push(segment)
    }
    this.#removal ??= this.#removeAll().finally(() => {
      this.#removal = null
    })
  }

  async #removeAll(): Promise<void> {
    for (;;) {
      const segment = this.#unneeded[0]
      if (segment === undefined || this.#failure !== null) return
      try {
        await this.#disk.remove(segment.name)
      } catch (error) {
        // A read-only disk keeps its files: the next compaction tries again, or the next start.
        if (this.#gate === null || !isRefusal(error)) this.#failure ??= { cause: error }
        return
      }
      this.#unneeded.shift()
      try {
        await this.#disk.syncFolder()
      } catch (error) {
        this.#failure ??= { cause: error }
      }
      await segment.close().catch(() => undefined)
    }
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(async () => {
      this.#assertUsable()
      const done = await run()
      await this.#gate?.released('folder')
      return done
    })
    this.#turn = result.catch(() => undefined)
    return result
  }

  #assertUsable(): void {
    if (this.#failure !== null) throw this.#refusal()
    if (this.#closed) throw new MusterError('unavailable', 'the log is closed')
  }

  #refusal(): MusterError {
    const cause = this.#failure?.cause
    return new MusterError(
      'unavailable',
      `the log in ${this.#disk.path} cannot be written any more: ${textOf(cause)}; what the disk took last cannot be trusted, so check the disk and start the server again`,
      { cause },
    )
  }
}

/** The term of an entry that the same batch wrote. */
function termInBatch(records: readonly LogRecord[], index: LogIndex): Term | null {
  const record = records.findLast((at) => at.type === 'entry' && at.entry.index === index)
  return record?.type === 'entry' ? record.entry.term : null
}

/**
 * A sync failed. What the kernel shows from now on may never reach the disk, so there is no second try. Not as `cause`: it is no
 * refusal, even if it failed for want of space.
 */
class SyncFailure extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('a sync failed')
    this.reason = reason
  }
}
