/**
 * Whether the disk under the log takes writes. The log has segments in reserve, so a write of its own may go well on a disk
 * that is full, and an idle server writes nothing at all: so this makes a small file beside it once a second, syncs
 * it, and removes it, as a new segment would need.
 *
 * Where the folder itself is gone, the log's open files take writes as before, and nothing of it will be there after the next start.
 * Another folder in its place changes nothing; the same one may come back. So it is where the file of the log was deleted by itself.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Timer } from '../lib/clock.ts'
import { systemCodeOf, textOf } from '../lib/errors.ts'
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
  /** False: the file that the log writes to was deleted. Never rejects. Absent: it was not. */
  readonly hasFile?: () => Promise<boolean>
  /** The folder, or the file, is gone, or came back. */
  readonly onGone?: (gone: boolean) => void
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
  #gone = false
  /** Which folder it was at first, null where that is not known. */
  #folder: string | null = null
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
    this.#folder = await folderAt(this.#options.folder)
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
    this.#underWay = write(this.#path)
      .then(() => this.#assertSameLog())
      .then(
        () => this.#judge(null),
        (error: unknown) => this.#judge(error),
      )
    await this.#underWay
    this.#underWay = null
    if (this.#stopped) return
    this.#timer = clock.setTimer(probeEveryMs, () => void this.#probe())
  }

  async #assertSameLog(): Promise<void> {
    const { folder, hasFile } = this.#options
    if (hasFile !== undefined && !(await hasFile())) throw lost(`the log in ${folder} was deleted`)
    // Only where it was gone: some file systems number a folder anew while it is in use.
    if (!this.#gone || (await folderAt(folder)) === this.#folder) return
    throw lost(`${folder} was deleted and is another folder now`)
  }

  #judge(error: unknown): void {
    const { folder, logger, onGone } = this.#options
    const healthy = error === null
    const gone = healthy ? false : this.#gone || systemCodeOf(error) === 'ENOENT'
    if (gone !== this.#gone) {
      this.#gone = gone
      onGone?.(gone)
    }
    if (healthy === this.#healthy) return
    this.#healthy = healthy
    if (healthy) logger.info('the disk takes writes again', { folder })
    else logger.error('the disk takes no writes', { folder, reason: textOf(error) })
  }
}

function lost(what: string): Error {
  const text = `${what}: stop this server, and start it with an empty data folder`
  return Object.assign(new Error(text), { code: 'ENOENT' })
}

async function folderAt(path: string): Promise<string | null> {
  return stat(path).then(
    ({ dev, ino }) => `${dev} ${ino}`,
    () => null,
  )
}
