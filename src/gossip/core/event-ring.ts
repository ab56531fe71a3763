/**
 * The recent user events by Lamport time, to know which are news and to pass them on to newcomers.
 *
 * Bounds: `lamportTimesMax` times, `eventsPerTimeMax` events of one time, `eventBytesMax` bytes of one event,
 * `ringBytesMax` of all; the oldest give way. A time
 * further back than the ring reaches is too old to tell whether it is news, and is not.
 */
import { assert } from '../../lib/assert.ts'
import { LamportSlots } from './lamport-slots.ts'
import { sameBytes } from './members.ts'
import type { SerfPushPull, UserEvent } from './message.ts'

const eventsPerTimeMax = 32
export const eventBytesMax = 9 * 1_024
export const ringBytesMax = 1_024 * 1_024

type Slot = { readonly time: number; readonly events: UserEvent[] }

export function eventBytes(event: UserEvent): number {
  return event.name.length + event.payload.length
}

export class EventRing {
  readonly #slots = new LamportSlots<Slot>()
  #bytes = 0

  /** True: it is news. `clock`: the event clock after it saw this time. */
  add(time: number, event: UserEvent, clock: number): boolean {
    const make = (): Slot => ({ time, events: [] })
    const slot = this.#slots.slotAt(time, clock, make, (dropped) => this.#uncount(dropped))
    if (slot === null) return false
    const known = slot.events.some(
      (other) => other.name === event.name && sameBytes(other.payload, event.payload),
    )
    if (known || slot.events.length >= eventsPerTimeMax) return false
    slot.events.push(event)
    this.#bytes += eventBytes(event)
    while (this.#bytes > ringBytesMax) {
      const oldest = this.#slots.takeOldest()
      assert(oldest !== null, 'a ring that holds bytes holds a slot')
      this.#uncount(oldest)
    }
    return true
  }

  list(): SerfPushPull['events'] {
    return this.#slots.list()
  }

  #uncount({ events }: Slot): void {
    for (const event of events) this.#bytes -= eventBytes(event)
  }
}
