/** How far a transfer is: one line on a terminal, drawn over and over; nothing in a pipe or a log. */
import { styleText } from 'node:util'
import type { Terminal } from '../verb.ts'

const redrawMs = 100
const clearLine = '\r\u001b[K'

export class Progress {
  readonly #terminal: Terminal
  readonly #what: string
  readonly #totalBytes: number | null
  readonly #startMs: number
  #bytes = 0
  #drawnMs = -Infinity

  /** `totalBytes` is null when it is unknown. */
  constructor(terminal: Terminal, what: string, totalBytes: number | null) {
    this.#terminal = terminal
    this.#what = what
    this.#totalBytes = totalBytes
    this.#startMs = terminal.nowMs()
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Passes the chunks on and counts them; the line is gone when they end, however they do. */
  async *watch(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of source) {
        this.#bytes += chunk.length
        this.#draw()
        yield chunk
      }
    } finally {
      if (this.#drawnMs !== -Infinity) this.#terminal.err(clearLine)
    }
  }

  #draw(): void {
    const nowMs = this.#terminal.nowMs()
    if (!this.#terminal.errIsTerminal || nowMs - this.#drawnMs < redrawMs) return
    this.#drawnMs = nowMs
    const seconds = Math.max(0.001, (nowMs - this.#startMs) / 1000)
    const part =
      this.#totalBytes === null || this.#totalBytes === 0
        ? ''
        : ` of ${formatBytes(this.#totalBytes)}, ${Math.floor((100 * this.#bytes) / this.#totalBytes)} %`
    const line = `${this.#what}: ${formatBytes(this.#bytes)}${part}, ${formatBytes(this.#bytes / seconds)}/s`
    const forbidden = this.#terminal.env('NO_COLOR') !== undefined
    this.#terminal.err(
      `${clearLine}${forbidden ? line : styleText('dim', line, { validateStream: false })}`,
    )
  }
}

/** `512 B`, `1.5 KiB`, `20 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  const digits = unit === 0 || value >= 10 ? 0 : 1
  return `${value.toFixed(digits)} ${units[unit]}`
}
