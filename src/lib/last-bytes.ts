/** The end of what a command says, within a bound: a command says last what matters most. */
export class LastBytes {
  readonly #max: number
  #bytes = Buffer.alloc(0)

  constructor(max: number) {
    this.#max = max
  }

  add(chunk: Uint8Array): void {
    const joined = Buffer.concat([this.#bytes, chunk.subarray(-this.#max)])
    this.#bytes = joined.subarray(-this.#max)
  }

  text(): string {
    return this.#bytes.toString('utf8')
  }
}
