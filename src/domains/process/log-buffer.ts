/**
 * The lines that one reader of the log has not taken yet. Logging never waits for a reader: what does not fit is
 * counted, and the count stands where the lines would have stood.
 */
import type { LogLine } from '../../lib/log.ts'

/** Of text that waits for one reader: some thousand lines. */
export const bufferedLengthMax = 512 * 1024

export class LogBuffer {
  readonly #format: (line: LogLine) => string
  readonly #dropNotice: (count: number) => string
  readonly #lengthMax: number
  #lines: string[] = []
  #length = 0
  #dropped = 0
  #wake: (() => void) | null = null

  /** Both functions return one line without its end. */
  constructor(options: {
    readonly format: (line: LogLine) => string
    readonly dropNotice: (count: number) => string
    readonly lengthMax?: number
  }) {
    this.#format = options.format
    this.#dropNotice = options.dropNotice
    this.#lengthMax = options.lengthMax ?? bufferedLengthMax
  }

  /** Never waits, never throws. */
  push(line: LogLine): void {
    if (this.#length >= this.#lengthMax) {
      this.#dropped += 1
      return
    }
    this.#noteDropped()
    this.#add(this.#format(line))
  }

  /** All that waits, each line with its end; '' when nothing does. */
  take(): string {
    this.#noteDropped()
    const text = this.#lines.join('')
    this.#lines = []
    this.#length = 0
    return text
  }

  /** Resolves when there is something to take or `end` was called. One at a time. */
  async wait(): Promise<void> {
    if (this.#length > 0 || this.#dropped > 0) return
    await new Promise<void>((wake) => (this.#wake = wake))
  }

  end(): void {
    this.#wake?.()
  }

  #noteDropped(): void {
    if (this.#dropped === 0) return
    const count = this.#dropped
    this.#dropped = 0
    this.#add(this.#dropNotice(count))
  }

  #add(line: string): void {
    this.#lines.push(`${line}\n`)
    this.#length += line.length + 1
    this.#wake?.()
    this.#wake = null
  }
}
