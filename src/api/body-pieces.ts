/**
 * The pieces of one body as they come. A lone piece stays as it is; more are copied together at once, as a client may send
 * a body byte by byte, and each piece that is kept costs some hundred bytes. Memory that is not needed any more goes back at
 * once: the collector comes much later for what lies outside of its heap, and a flood of uploads would grow far beyond its budget.
 */
import { freeBytes } from './free-bytes.ts'
import { smallBodyBytesMax } from './route.ts'

const growthBytesMin = 4_096

export class BodyPieces {
  #bytes: Buffer | null = null
  #length = 0
  readonly #owned: boolean

  /** `owned`: nobody else has the pieces. */
  constructor(owned: boolean) {
    this.#owned = owned
  }

  get length(): number {
    return this.#length
  }

  /** Bytes of memory that one more piece takes. `announced`: of the whole body, if its head says so. */
  costOf(piece: Buffer, announced: number): number {
    const held = this.#bytes?.length ?? 0
    const needed = this.#length + piece.length
    if (held === 0) return needed
    if (needed <= held) return 0
    const most = needed <= smallBodyBytesMax ? smallBodyBytesMax : Infinity
    const doubled = Math.max(needed, Math.min(2 * held, most), growthBytesMin)
    return (announced >= needed ? Math.min(announced, doubled) : doubled) - held
  }

  /** `cost` is what `costOf` said of it. */
  add(piece: Buffer, cost: number): void {
    const { length } = piece
    if (this.#bytes === null) {
      this.#bytes = piece
    } else {
      if (cost > 0) {
        // Not of the pool, whose slabs stay as long as any part of them.
        const larger = Buffer.allocUnsafeSlow(this.#bytes.length + cost)
        this.#bytes.copy(larger, 0, 0, this.#length)
        this.#free(this.#bytes)
        this.#bytes = larger
      }
      piece.copy(this.#bytes, this.#length)
      this.#free(piece)
    }
    this.#length += length
  }

  /** Nobody wants them any more. */
  drop(): void {
    if (this.#bytes !== null) this.#free(this.#bytes)
    this.#bytes = null
    this.#length = 0
  }

  whole(): Uint8Array {
    if (this.#bytes === null) return new Uint8Array(0)
    return this.#bytes.length === this.#length ? this.#bytes : this.#bytes.subarray(0, this.#length)
  }

  #free(bytes: Buffer): void {
    if (this.#owned) freeBytes(bytes)
  }
}
