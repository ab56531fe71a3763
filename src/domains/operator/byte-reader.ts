/** As many bytes at a time as are asked for, from chunks of any size. */

export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #cutOff: () => Error
  #rest: Buffer = Buffer.alloc(0)

  /** `cutOff`: what is thrown where the source ends too early. */
  constructor(source: AsyncIterable<Uint8Array>, cutOff: () => Error) {
    this.#chunks = source[Symbol.asyncIterator]()
    this.#cutOff = cutOff
  }

  /** Exactly so many. */
  async take(length: number): Promise<Buffer> {
    const bytes = await this.upTo(length)
    if (bytes.length < length) throw this.#cutOff()
    return bytes
  }

  /** Fewer at the end of the source. */
  async upTo(length: number): Promise<Buffer> {
    const parts: Buffer[] = []
    let missing = length
    while (missing > 0) {
      if (this.#rest.length === 0 && !(await this.#more())) break
      const part = this.#rest.subarray(0, missing)
      this.#rest = this.#rest.subarray(part.length)
      parts.push(part)
      missing -= part.length
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }

  /** All that is left, as it comes. */
  async *rest(): AsyncGenerator<Uint8Array> {
    while (this.#rest.length > 0 || (await this.#more())) {
      const bytes = this.#rest
      this.#rest = Buffer.alloc(0)
      yield bytes
    }
  }

  /** Lets go of the source, also one that was not read to its end: a file behind it is closed. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  async #more(): Promise<boolean> {
    for (;;) {
      const next = await this.#chunks.next()
      if (next.done === true) return false
      const { buffer, byteOffset, byteLength } = next.value
      this.#rest = Buffer.from(buffer, byteOffset, byteLength)
      if (byteLength > 0) return true
    }
  }
}
