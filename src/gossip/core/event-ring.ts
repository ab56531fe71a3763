/**
 * The recent user events by Lamport time, to know which are news and to pass them on to newcomers.
 *
 * Bounds: `eventTimesMax` times, `eventsPerTimeMax` events of one time, `eventBytesMax` bytes of one event,
 * `ringBytesMax` of all; the oldest give way. A time
 * further back than the ring reaches is too old to tell whether it is news, and is not.
 */
import { assert } from '../../lib/assert.ts'
import { sameBytes } from './members.ts'
import type { SerfPushPull, UserEvent } from './message.ts'

export const eventTimesMax = 512
const eventsPerTimeMax = 32
export const eventBytesMax = 9 * 1_024
export const ringBytesMax = 1_024 * 1_024

type Slot = { readonly time: number; readonly events: UserEvent[] }

export function eventBytes(event: UserEvent): number {
  return event.name.length + event.payload.length
}

export class EventRing {
  readonly #slots: (Slot | null)[] = Array.from({ length: eventTimesMax }, () => null)
  #bytes = 0

  /** True: it is news. `clock`: the event clock after it saw this time. */
  add(time: number, event: UserEvent, clock: number): boolean {
    if (clock > eventTimesMax && time < clock - eventTimesMax) return false
    const index = time % eventTimesMax
    let slot = this.#slots[index] ?? null
    if (slot !== null && slot.time > time) return false
    if (slot === null || slot.time < time) {
      this.#clear(index)
      slot = { time, events: [] }
      this.#slots[index] = slot
    }
    const known = slot.events.some(
      (other) => other.name === event.name && sameBytes(other.payload, event.payload),
    )
    if (known || slot.events.length >= eventsPerTimeMax) return false
    slot.events.push(event)
    this.#bytes += eventBytes(event)
    while (this.#bytes > ringBytesMax) this.#clear(this.#oldest())
    return true
  }

  list(): SerfPushPull['events'] {
    return this.#slots.filter((slot) => slot !== null)
  }

  #oldest(): number {
    let oldest = -1
    let oldestTime = Infinity
    for (const [index, slot] of this.#slots.entries()) {
      if (slot === null || slot.time >= oldestTime) continue
      oldest = index
      oldestTime = slot.time
    }
    assert(oldest >= 0, 'a ring that holds bytes holds a slot')
    return oldest
  }

  #clear(index: number): void {
    for (const event of this.#slots[index]?.events ?? []) this.#bytes -= eventBytes(event)
    this.#slots[index] = null
  }
}
