/** Where a process writes its results, and whether they arrived. */
import { fstatSync, writeFileSync } from 'node:fs'

const stdoutFd = 1

export class StandardOutput {
  readonly #stream: () => NodeJS.WriteStream
  /** Calls back when the text has left this process, or never will. */
  #sink: ((text: string | Uint8Array, done: () => void) => void) | null = null
  #error: NodeJS.ErrnoException | null = null

  /** Node.js makes its stream at the first use, in some milliseconds: the first write asks for it. */
  constructor(stream: () => NodeJS.WriteStream) {
    this.#stream = stream
  }

  /** Of the first thing that was not taken; null while all was. */
  get error(): NodeJS.ErrnoException | null {
    return this.#error
  }

  /** Never throws: a reader that went away (`muster help | head`) or a full disk must not end a server. */
  write(text: string | Uint8Array): void {
    this.#sink ??= this.#open()
    this.#sink(text, () => {})
  }

  /** Resolves once all that was written has left this process, or never will; `error` is known then. */
  async flushed(): Promise<void> {
    const sink = this.#sink
    if (sink === null) return
    await new Promise<void>((resolve) => sink('', resolve))
    // A stream tells its errors some ticks after the callback.
    await new Promise<void>((resolve) => void setImmediate(resolve))
  }

  #open(): (text: string | Uint8Array, done: () => void) => void {
    const keep = (error: NodeJS.ErrnoException): void => {
      this.#error ??= error
    }
    if (fstatSync(stdoutFd).isFile()) {
      return (text, done) => {
        try {
          // All of it: Node.js's stream takes a write that a full disk cut short for a whole one.
          writeFileSync(stdoutFd, text)
        } catch (error) {
          keep(error as NodeJS.ErrnoException)
        }
        done()
      }
    }
    const stream = this.#stream().on('error', keep)
    return (text, done) => void stream.write(text, done)
  }
}
