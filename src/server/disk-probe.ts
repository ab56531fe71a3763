/**
 * Whether the disk under the log takes writes. The log has segments in reserve, so a write of its own may go well on a disk
 * that is full, and an idle server writes nothing at all: so this makes a small file beside it once a second, syncs
 * it, and removes it, as a new segment would need.
 */
import { join } from 'node:path'
import type { Clock, Timer } from '../lib/clock.ts'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { writeBlock } from '../lib/write-block.ts'

/** From the end of one probe to the next: with a failing disk's answer well within two seconds. */
export const probeEveryMs = 1_000
/** A disk that takes longer for one block holds up every write: no server to send requests to. */
export const probeStallMs = 3_000

const probeName = 'health-probe'

export type DiskProbeOptions = {
  /** The folder that the log is in. */
  readonly folder: string
  readonly clock: Clock
  readonly logger: Logger
  /** Default: writes, syncs and removes a file. Rejects when the disk does not take it. */
  readonly write?: (path: string) => Promise<void>
}

export class DiskProbe {
  readonly #options: DiskProbeOptions
  readonly #path: string
  #timer: Timer | null = null
  #underWay: Promise<void> | null = null
  #startedMs = 0
  #healthy = true
  #stopped = false

  constructor(options: DiskProbeOptions) {
    this.#options = options
    this.#path = join(options.folder, probeName)
  }

  /** Only looks: no I/O. */
  get healthy(): boolean {
    if (!this.#healthy) return false
    if (this.#underWay === null) return true
    return this.#options.clock.monotonicMs() - this.#startedMs < probeStallMs
  }

  /** Resolves once the disk was tried for the first time. */
  async start(): Promise<void> {
    await this.#probe()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#underWay
  }

  /** Never rejects. */
  async #probe(): Promise<void> {
    const { clock, write = writeBlock } = this.#options
    this.#startedMs = clock.monotonicMs()
    this.#underWay = write(this.#path).then(
      () => this.#judge(null),
      (error: unknown) => this.#judge(textOf(error)),
    )
    await this.#underWay
    this.#underWay = null
    if (this.#stopped) return
    this.#timer = clock.setTimer(probeEveryMs, () => void this.#probe())
  }

  #judge(reason: string | null): void {
    const { folder, logger } = this.#options
    const healthy = reason === null
    if (healthy === this.#healthy) return
    this.#healthy = healthy
    if (healthy) logger.info('the disk takes writes again', { folder })
    else logger.error('the disk takes no writes', { folder, reason })
  }
}
