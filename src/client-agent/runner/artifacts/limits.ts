/** How much an artifact may take of the machine. */
import { MusterError } from '../../../lib/errors.ts'

export type ArtifactSettings = {
  /** Absolute paths of folders that jobs may have files of. */
  readonly fileFolders: readonly string[]
  /** From the first byte that is asked for to the last one that is unpacked. */
  readonly msMax: number
  /** Of what is downloaded, and of what is unpacked of it. */
  readonly bytesMax: number
  readonly unpackedBytesMax: number
  readonly filesMax: number
}

/** Counts what is written. */
export class Room {
  readonly #filesMax: number
  readonly #bytesMax: number
  #files = 0
  #bytes = 0

  constructor({ filesMax, unpackedBytesMax }: ArtifactSettings) {
    this.#filesMax = filesMax
    this.#bytesMax = unpackedBytesMax
  }

  /** What comes of a file that is not packed any more, also what is never written. */
  async *bounded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0
    for await (const chunk of chunks) {
      bytes += chunk.length
      // An archive says something of each of its files.
      if (bytes > 2 * this.#bytesMax) throw tooLarge(this.#bytesMax)
      yield chunk
    }
  }

  /** Throws `too_large`. */
  takeFile(): void {
    this.#files += 1
    if (this.#files > this.#filesMax) {
      throw new MusterError('too_large', `it holds more than ${this.#filesMax} files and folders`)
    }
  }

  /** The same. */
  takeBytes(count: number): void {
    this.#bytes += count
    if (this.#bytes > this.#bytesMax) throw tooLarge(this.#bytesMax)
  }
}

function tooLarge(bytesMax: number): MusterError {
  return new MusterError('too_large', `it unpacks to more than ${bytesMax} bytes`)
}
