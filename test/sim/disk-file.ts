/**
 * The bytes of one simulated file, twice: as a process sees them, and as they would be found after the power failed.
 */
import { present } from '../../src/lib/assert.ts'
import type { Random } from '../../src/lib/random.ts'
import { integer, pick } from './randomness.ts'

/** What a disk writes whole or not at all. */
const sectorBytes = 512

type Change =
  | { readonly type: 'write'; readonly position: number; readonly bytes: Uint8Array }
  | { readonly type: 'truncate'; readonly size: number }

export class SimFile {
  readonly cached = new Content()
  readonly #durable = new Content()
  /** Made since the last sync, in order. */
  #pending: Change[] = []
  /** The latest name it had. */
  name: string

  constructor(name: string) {
    this.name = name
  }

  write(bytes: Uint8Array, position: number): void {
    this.#change({ type: 'write', position, bytes: Uint8Array.from(bytes) })
  }

  truncate(size: number): void {
    this.#change({ type: 'truncate', size })
  }

  /** A sync makes durable what was written before it began. Returns how to end it. */
  beginSync(): () => void {
    const begun = new Set(this.#pending)
    return () => {
      for (const change of this.#pending) if (begun.has(change)) apply(this.#durable, change)
      this.#pending = this.#pending.filter((change) => !begun.has(change))
    }
  }

  /** A failed sync: the kernel takes the pages for clean, shows them, and will never write them again. */
  forget(): void {
    this.#pending = []
  }

  /** Bytes rot on the disk itself. */
  corrupt(position: number, mask: number): void {
    for (const { bytes } of [this.cached, this.#durable]) {
      bytes[position] = present(bytes[position], 'the byte to corrupt') ^ mask
    }
  }

  crash(random: Random): void {
    const changes = this.#pending
    const mode = pick(random, ['lost', 'kept', 'prefix', 'sectors'] as const)
    const cut = changes.some((change) => change.type === 'truncate')
    if (mode === 'kept') for (const change of changes) apply(this.#durable, change)
    else if (mode === 'prefix' || (mode === 'sectors' && cut)) {
      const kept = integer(random, 0, changes.length)
      for (const change of changes.slice(0, kept)) apply(this.#durable, change)
    } else if (mode === 'sectors') this.#tear(random)
    this.#pending = []
    this.cached.copyFrom(this.#durable)
  }

  #change(change: Change): void {
    this.#pending.push(change)
    apply(this.cached, change)
  }

  /** Each sector is as it was before or after any of its writes, whatever its neighbours are. So is the size. */
  #tear(random: Random): void {
    const writes = this.#pending.filter((change) => change.type === 'write')
    const sizes = [this.#durable.size]
    const bySector = new Map<number, (typeof writes)[number][]>()
    for (const write of writes) {
      const end = write.position + write.bytes.length
      sizes.push(Math.max(present(sizes.at(-1), 'a size'), end))
      for (let at = Math.floor(write.position / sectorBytes); at * sectorBytes < end; at++) {
        bySector.set(at, [...(bySector.get(at) ?? []), write])
      }
    }
    const size = pick(random, sizes)
    for (const [sector, candidates] of bySector) {
      const from = sector * sectorBytes
      for (const write of candidates.slice(0, integer(random, 0, candidates.length))) {
        const start = Math.max(from, write.position)
        const end = Math.min(from + sectorBytes, write.position + write.bytes.length)
        const part = write.bytes.subarray(start - write.position, end - write.position)
        this.#durable.write(part, start)
      }
    }
    this.#durable.resize(size)
  }
}

function apply(content: Content, change: Change): void {
  if (change.type === 'write') content.write(change.bytes, change.position)
  else content.resize(change.size)
}

class Content {
  bytes = new Uint8Array(0)
  size = 0

  write(bytes: Uint8Array, position: number): void {
    const end = position + bytes.length
    if (end > this.size) this.resize(end)
    this.bytes.set(bytes, position)
  }

  read(buffer: Uint8Array, position: number): number {
    const part = this.bytes.subarray(
      Math.min(position, this.size),
      Math.min(position + buffer.length, this.size),
    )
    buffer.set(part)
    return part.length
  }

  resize(size: number): void {
    if (size > this.bytes.length) {
      const larger = new Uint8Array(Math.max(size, this.bytes.length * 2))
      larger.set(this.bytes.subarray(0, this.size))
      this.bytes = larger
    }
    // What is cut off must not show when the file grows again.
    if (size < this.size) this.bytes.fill(0, size, this.size)
    this.size = size
  }

  copyFrom(other: Content): void {
    this.bytes = other.bytes.slice()
    this.size = other.size
  }
}
