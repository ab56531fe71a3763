/**
 * What the calls of all links hold in memory here: arguments of those that run, and results that nobody has read yet.
 * One link may use most of it while the others are quiet.
 */
import { MusterError } from '../lib/errors.ts'

export type LoadLimits = {
  readonly argumentBytesMax: number
  readonly resultBytesMax: number
}

export const loadLimits: LoadLimits = {
  argumentBytesMax: 256 * 1024 * 1024,
  resultBytesMax: 256 * 1024 * 1024,
}

/** A link with less than this is not ended for what others hold. */
const fairResultBytes = 1024 * 1024

export class LinkLoad {
  readonly #limits: LoadLimits
  #argumentBytes = 0
  #resultBytes = 0

  constructor(limits: LoadLimits) {
    this.#limits = limits
  }

  get argumentBytes(): number {
    return this.#argumentBytes
  }

  get resultBytes(): number {
    return this.#resultBytes
  }

  /** Throws `overloaded`; otherwise `ended` follows. */
  begun(argumentBytes: number): void {
    const { argumentBytesMax } = this.#limits
    if (this.#argumentBytes + argumentBytes > argumentBytesMax) {
      const text = `the calls of other servers that run here hold ${argumentBytesMax} bytes`
      throw new MusterError('overloaded', text)
    }
    this.#argumentBytes += argumentBytes
  }

  ended(argumentBytes: number): void {
    this.#argumentBytes -= argumentBytes
  }

  /** `bytes` more wait on a link, or fewer, where there are `ofLink` now. False: that link has to end. */
  waiting(bytes: number, ofLink: number): boolean {
    this.#resultBytes += bytes
    return this.#resultBytes <= this.#limits.resultBytesMax || ofLink <= fairResultBytes
  }
}
