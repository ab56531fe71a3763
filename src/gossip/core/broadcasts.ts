/**
 * What is to be told to everybody, a few times each: the least told goes first, and newer news with the same key
 * takes the place of older.
 *
 * Invariants: a key is in at most one level; level i holds what was told i times; never more than `limit` entries.
 */
import { assert } from '../../lib/assert.ts'
import type { PacketMessage } from './message.ts'

type Broadcast = { readonly message: PacketMessage; readonly bytes: number }

/** Bytes no broadcast is smaller than; a packet with less room is full. */
const smallestBytes = 8
/** Looks for something small enough for what is left; a long queue is not searched for the perfect fit. */
const misfitsMax = 16

export class Broadcasts {
  readonly #limit: number
  readonly #levels: Map<string, Broadcast>[] = []
  readonly #levelOf = new Map<string, number>()
  /** Thrown away because the queue was full. */
  dropped = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#levelOf.size
  }

  has(key: string): boolean {
    return this.#levelOf.has(key)
  }

  /** When full, what was told most often makes room. */
  add(key: string, message: PacketMessage, bytes: number): void {
    this.remove(key)
    if (this.size >= this.#limit) this.#dropMostTold()
    this.#put(0, key, { message, bytes })
  }

  remove(key: string): void {
    const level = this.#levelOf.get(key)
    if (level === undefined) return
    this.#levels[level]?.delete(key)
    this.#levelOf.delete(key)
  }

  /** Moves what fits into `bytes`, each with `overhead`, to `into`; returns the bytes left. What was told `transmitsMax` times is done. */
  take(
    into: PacketMessage[],
    bytes: number,
    options: {
      readonly overhead: number
      readonly transmitsMax: number
      readonly countMax: number
    },
  ): number {
    let left = bytes
    let misfits = 0
    const told: { readonly level: number; readonly key: string; readonly broadcast: Broadcast }[] =
      []
    search: for (const [level, entries] of this.#levels.entries()) {
      for (const [key, broadcast] of entries) {
        if (left < smallestBytes + options.overhead) break search
        if (into.length >= options.countMax) break search
        const cost = broadcast.bytes + options.overhead
        if (cost > left) {
          misfits += 1
          if (misfits >= misfitsMax) break search
          continue
        }
        left -= cost
        into.push(broadcast.message)
        told.push({ level, key, broadcast })
      }
    }
    for (const { level, key, broadcast } of told) {
      this.remove(key)
      if (level + 1 < options.transmitsMax) this.#put(level + 1, key, broadcast)
    }
    return left
  }

  #put(level: number, key: string, broadcast: Broadcast): void {
    while (this.#levels.length <= level) this.#levels.push(new Map())
    this.#levels[level]?.set(key, broadcast)
    this.#levelOf.set(key, level)
    assert(this.#levelOf.size <= this.#limit, 'a broadcast queue keeps its bound')
  }

  #dropMostTold(): void {
    for (let level = this.#levels.length - 1; level >= 0; level -= 1) {
      const key = this.#levels[level]?.keys().next().value
      if (key === undefined) continue
      this.remove(key)
      this.dropped += 1
      return
    }
  }
}
