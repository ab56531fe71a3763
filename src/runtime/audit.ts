/**
 * The audit log of one agent: what requests leave behind waits in a bounded queue, and one owner writes it in batches, so
 * that no request waits for the disk. A disk that takes nothing costs lines, which are counted and told, or, where
 * `audit.required` says so, requests.
 */
import type { AuditedRequest, RequestAudit } from '../api/audit.ts'
import type { LoginAuditEvent } from '../domains/host.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { RotatedFile } from '../lib/rotated-file.ts'
import { within } from '../lib/async.ts'
import {
  auditLine,
  eventLine,
  gapLine,
  nothingShown,
  type AuditedEvent,
  type AuditEntry,
  type ShownToken,
} from './audit-line.ts'

export type AuditSettings = {
  readonly enabled: boolean
  /** Absolute. */
  readonly path: string
  readonly rotateBytes: number
  readonly rotateFilesMax: number
  /** Requests are refused while nothing can be recorded. */
  readonly required: boolean
}

/** Who brings a token, as far as this agent knows. */
export interface TokenBearers {
  /** The accessor of a token by its secret; null: not known yet, or unknown. At once, and never throws. */
  accessorOf(token: string): string | null
  /** What the lines of a batch show of their tokens; of those that are absent nothing. */
  shown(tokens: ReadonlySet<string>): Promise<ReadonlyMap<string, ShownToken>>
}

export type AuditLogOptions = {
  /** The agent's name. */
  readonly server: string
  readonly settings: AuditSettings
  readonly bearers: TokenBearers
  readonly clock: Clock
  readonly log: Logger
  readonly linesMax?: number
}

export type AuditCounts = {
  readonly written: number
  readonly dropped: number
  readonly failedWrites: number
  readonly waiting: number
}

/** Lines that wait for the disk. Where requests are refused instead of dropped, those under way may add theirs. */
export const linesMax = 16_384
/** Letters of the paths that wait with them, for a path may be long. */
const pathLengthsMax = 16 * 2 ** 20
/** From the first line of a batch to its write. */
const gatherMs = 50
/** As many lines are made at once: the event loop is needed elsewhere. */
const batchLinesMax = 128
/** Between attempts at a disk that refuses. */
const retryMs = 1_000
/** A stop waits this long for the disk. */
const lastWriteMs = 2_000
const noneShown: ReadonlyMap<string, ShownToken> = new Map()

/** Lines that are missing, at the place where they are. */
type Gap = { readonly type: 'gap'; readonly sinceWallMs: number; dropped: number }
type Waiting = Gap | ({ readonly type: 'request' } & AuditEntry) | AuditedEvent

export class AuditLog implements RequestAudit {
  readonly #options: AuditLogOptions
  readonly #linesMax: number
  #settings: AuditSettings
  /** Null: nothing is recorded. */
  #file: RotatedFile | null = null
  #queue: Waiting[] = []
  /** The sum of the lengths of all paths in the queue. */
  #pathLengths = 0
  /** What the disk has not taken yet. */
  #batch: { readonly text: string; readonly lines: number } | null = null
  /** Not in the queue yet: it still grows. */
  #gap: Gap | null = null
  #failing = false
  #timer: Timer | null = null
  /** Writing, and changes of the file, one after the other. */
  #work: Promise<void> = Promise.resolve()
  #closed = false
  readonly #counts = { written: 0, dropped: 0, failedWrites: 0 }

  private constructor(options: AuditLogOptions) {
    this.#options = options
    this.#settings = options.settings
    this.#linesMax = options.linesMax ?? linesMax
  }

  /** Rejects with `invalid_argument` when the file cannot be had. */
  static async open(options: AuditLogOptions): Promise<AuditLog> {
    const audit = new AuditLog(options)
    if (options.settings.enabled) audit.#file = await audit.#open(options.settings)
    return audit
  }

  get enabled(): boolean {
    return this.#file !== null
  }

  get refusing(): boolean {
    if (!this.#settings.required || this.#file === null) return false
    return this.#failing || this.#load() >= 1
  }

  get counts(): AuditCounts {
    return { ...this.#counts, waiting: this.#queue.length + (this.#batch?.lines ?? 0) }
  }

  accessorOf(token: string): string | null {
    return this.#options.bearers.accessorOf(token)
  }

  record(request: AuditedRequest): void {
    const wallMs = this.#wallMsOfNext()
    if (wallMs === null) return
    const { token } = request
    const accessor = request.accessor ?? (token === null ? null : this.accessorOf(token))
    this.#queue.push({ type: 'request', ...request, accessor, wallMs })
    this.#pathLengths += request.url.length
    this.#arm(gatherMs)
  }

  note(event: LoginAuditEvent): void {
    const wallMs = this.#wallMsOfNext()
    if (wallMs === null) return
    this.#queue.push({ ...event, wallMs })
    this.#arm(gatherMs)
  }

  /** null: the line is not kept. */
  #wallMsOfNext(): number | null {
    if (this.#file === null || this.#closed) return null
    const wallMs = this.#options.clock.wallMs()
    if (!this.#settings.required && !this.#hasRoom()) {
      this.#drop(wallMs)
      return null
    }
    this.#endGap()
    return wallMs
  }

  /**
   * Goes on with a file of that name, be it a new one: a tool that moved the old one away has it whole. Rejects with
   * `invalid_argument` when it cannot be had; then all stays as it was.
   */
  async reload(settings: AuditSettings): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#closed) return
      const next = settings.enabled ? await this.#open(settings) : null
      if (next === null) await this.#writeAll()
      const before = this.#file
      this.#file = next
      this.#settings = settings
      if (next === null) this.#forget()
      await before?.close()
    })
    if (this.#queue.length > 0 || this.#batch !== null) this.#arm(0)
  }

  /** Resolves once all is written, or the disk took none of it for a while. */
  async stop(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    const end = this.#inTurn(async () => {
      await this.#writeAll()
      await this.#file?.close()
      this.#file = null
    })
    await within(end, this.#options.clock, lastWriteMs)
  }

  async #open({ path, rotateBytes, rotateFilesMax }: AuditSettings): Promise<RotatedFile> {
    const settings = { path, bytesMax: rotateBytes, filesMax: rotateFilesMax }
    try {
      return await RotatedFile.open(settings, () => this.#options.clock.wallMs())
    } catch (error) {
      throw new MusterError('invalid_argument', `audit.path: ${textOf(error)}`, { cause: error })
    }
  }

  /** A burst of lines that are dropped ends when half of the queue is free, and not with each line that was written. */
  #hasRoom(): boolean {
    return this.#load() < (this.#gap === null ? 1 : 0.5)
  }

  /** How much of what may wait does; 1: no more may. */
  #load(): number {
    return Math.max(this.#queue.length / this.#linesMax, this.#pathLengths / pathLengthsMax)
  }

  #drop(wallMs: number): void {
    this.#counts.dropped += 1
    if (this.#gap !== null) {
      this.#gap.dropped += 1
      return
    }
    this.#gap = { type: 'gap', sinceWallMs: wallMs, dropped: 1 }
    const { path } = this.#settings
    this.#options.log.warn('lines of the audit log are dropped: more wait for the disk than may', {
      path,
      waiting: this.#queue.length,
    })
  }

  #endGap(): void {
    const gap = this.#gap
    if (gap === null) return
    this.#gap = null
    this.#queue.push(gap)
    this.#options.log.warn('lines of the audit log were dropped', { dropped: gap.dropped })
  }

  #arm(delayMs: number): void {
    if (this.#closed || this.#timer !== null) return
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      void this.#inTurn(() => this.#writeAll()).then(() => {
        this.#timer = null
        if (this.#batch !== null) this.#arm(retryMs)
        else if (this.#queue.length > 0) this.#arm(0)
      })
    })
  }

  #inTurn(run: () => Promise<void>): Promise<void> {
    const done = this.#work.then(run)
    this.#work = done.catch(() => {})
    return done
  }

  /** Until nothing waits, or the disk refuses. */
  async #writeAll(): Promise<void> {
    while (this.#file !== null) {
      if (this.#batch === null && this.#queue.length === 0) this.#endGap()
      this.#batch ??= await this.#nextBatch()
      if (this.#batch === null) return
      try {
        await this.#file.append(this.#batch.text)
      } catch (error) {
        this.#refused(error)
        return
      }
      this.#counts.written += this.#batch.lines
      this.#batch = null
      this.#accepted()
    }
  }

  async #nextBatch(): Promise<{ readonly text: string; readonly lines: number } | null> {
    if (this.#queue.length === 0) return null
    const { server, clock, bearers } = this.#options
    const entries = this.#queue.splice(0, batchLinesMax)
    const tokens = new Set<string>()
    for (const entry of entries) {
      if (entry.type !== 'request') continue
      this.#pathLengths -= entry.url.length
      if (entry.token !== null) tokens.add(entry.token)
    }
    const shown = await bearers.shown(tokens).catch(() => noneShown)
    const shownOf = (token: string | null) =>
      (token === null ? undefined : shown.get(token)) ?? nothingShown
    const lines = entries.map((entry) => {
      switch (entry.type) {
        case 'gap':
          return gapLine(server, { ...entry, wallMs: clock.wallMs() })
        case 'request':
          return auditLine(server, entry, shownOf(entry.token))
        default:
          return eventLine(server, entry)
      }
    })
    return { text: lines.join(''), lines: lines.length }
  }

  #refused(error: unknown): void {
    this.#counts.failedWrites += 1
    if (this.#failing) return
    this.#failing = true
    const { path, required } = this.#settings
    this.#options.log.error('the audit log cannot be written; it is tried again', {
      path,
      reason: textOf(error),
      requests: required ? 'refused' : 'served',
    })
  }

  #accepted(): void {
    if (!this.#failing) return
    this.#failing = false
    this.#options.log.info('the audit log is written again', { path: this.#settings.path })
  }

  /** What waits for a disk that took nothing, when nothing is recorded any more. */
  #forget(): void {
    const lost = this.counts.waiting
    if (lost > 0) this.#options.log.warn('lines of the audit log were dropped', { dropped: lost })
    this.#counts.dropped += lost
    this.#queue = []
    this.#pathLengths = 0
    this.#batch = null
    this.#gap = null
    this.#failing = false
  }
}
