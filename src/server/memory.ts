/**
 * What memory this server takes, beside what it is to get by with (`server.memory_target`). Above that its caches shrink and V8 lets
 * less garbage lie; it goes on whatever it needs.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import type { HeapGrowth } from '../lib/heap-growth.ts'
import type { Logger } from '../lib/log.ts'
import { ownMemoryBytes } from '../lib/own-memory.ts'

export const memoryLookMs = 5_000
/** Looks below `calmShare` of the target, one after the other, before caches grow again. */
export const calmLooks = 6
const calmShare = 0.9

/** What its row cache keeps of its room. */
const shortShare = 1 / 4

export type MemoryOptions = {
  readonly targetBytes: number
  /** What it takes now. */
  readonly bytes: () => number
  /** Told when it takes too much, and when that is over. */
  readonly short: (isShort: boolean) => void
  readonly clock: Clock
  readonly logger: Logger
}

export class Memory {
  readonly targetBytes: number
  readonly #options: MemoryOptions
  #bytes: number
  #isShort = false
  #calm = 0
  #timer: Timer | null = null

  constructor(options: MemoryOptions) {
    this.#options = options
    this.targetBytes = options.targetBytes
    this.#bytes = options.bytes()
  }

  /** At the last look. */
  get bytes(): number {
    return this.#bytes
  }

  /** Caches are small, and stay so until less was taken for a while. */
  get isShort(): boolean {
    return this.#isShort
  }

  /** For people; null: it gets by. */
  get warning(): string | null {
    if (!this.#isShort) return null
    const [taken, target] = [mebibytes(this.#bytes), mebibytes(this.targetBytes)]
    return `${taken} MiB of memory, and server.memory_target is ${target} MiB: caches are kept small`
  }

  start(): void {
    this.#timer = this.#options.clock.setTimer(memoryLookMs, () => {
      this.#look()
      this.start()
    })
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #look(): void {
    this.#bytes = this.#options.bytes()
    if (this.#bytes > this.targetBytes) {
      this.#calm = 0
      if (!this.#isShort) this.#become(true, 'takes more memory than its target: caches shrink')
    } else if (this.#isShort) {
      this.#calm = this.#bytes <= this.targetBytes * calmShare ? this.#calm + 1 : 0
      if (this.#calm >= calmLooks) this.#become(false, 'takes less memory than its target again')
    }
  }

  #become(isShort: boolean, message: string): void {
    this.#isShort = isShort
    const { logger, short } = this.#options
    logger[isShort ? 'warn' : 'info'](message, {
      bytes: this.#bytes,
      targetBytes: this.targetBytes,
    })
    short(isShort)
  }
}

export type WatchedMemory = {
  readonly settings: { readonly targetBytes: number; readonly rowCacheBytes: number }
  readonly machine: { resizeRowCache(bytesMax: number): void }
  readonly heapGrowth: HeapGrowth
  readonly clock: Clock
  readonly logger: Logger
}

/** Of this process. */
export function watchMemory(watched: WatchedMemory): Memory {
  const { settings, machine, heapGrowth, clock, logger } = watched
  const memory = new Memory({
    targetBytes: settings.targetBytes,
    bytes: ownMemoryBytes,
    short: (isShort) => {
      machine.resizeRowCache(settings.rowCacheBytes * (isShort ? shortShare : 1))
      heapGrowth.boundFor('memory', isShort)
    },
    clock,
    logger,
  })
  memory.start()
  return memory
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
