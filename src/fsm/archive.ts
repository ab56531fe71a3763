/**
 * The rows of all tables for an operator's archive, in blocks that `state.restoreChunk` takes as they are.
 * Container, compression and file checksum are the caller's.
 */
import type { ArchivedRow } from './restore.ts'
import { encodeBlock, noRowsDigest, restoreDigest } from './restore.ts'
import { kind } from './keys.ts'
import type { State } from './state.ts'
import { wholeRange } from './table.ts'

const blockBytesTarget = 256 * 1024

/** One pass over the rows of one state. The opener closes it. */
export class RowExport {
  /** The state's index. */
  readonly index: number
  readonly #state: State
  #rows = 0
  #digest = noRowsDigest
  #closed = false

  constructor(state: State) {
    state.retain()
    this.#state = state
    this.index = state.position.appliedIndex
  }

  /** Rows in the blocks so far; after the last block, what `state.restoreCommit` wants. */
  get rows(): number {
    return this.#rows
  }

  /** As `rows`. */
  get digest(): string {
    return this.#digest
  }

  /** Blocks of at most 1 MiB, in key order. To be read once. */
  async *blocks(): AsyncGenerator<Uint8Array> {
    let rows: ArchivedRow[] = []
    let bytes = 0
    for await (const page of this.#state.pages(wholeRange(kind.row), true)) {
      for (const [key, value] of page) {
        rows.push({ key, value })
        bytes += key.length + value.byteLength
        if (bytes < blockBytesTarget) continue
        yield this.#block(rows)
        rows = []
        bytes = 0
      }
    }
    if (rows.length > 0) yield this.#block(rows)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#state.release()
  }

  #block(rows: readonly ArchivedRow[]): Uint8Array {
    const block = encodeBlock(rows)
    this.#rows += rows.length
    this.#digest = restoreDigest(this.#digest, block)
    return block
  }
}
