/**
 * Which queries were seen, by Lamport time and id. Bounds: `lamportTimesMax` times, `queriesPerTimeMax` ids of one time.
 */
import { LamportSlots } from './lamport-slots.ts'

const queriesPerTimeMax = 64

type Slot = { readonly time: number; readonly ids: Set<number> }

export class QueryRing {
  readonly #slots = new LamportSlots<Slot>()

  /** True: it is news. `clock`: the query clock after it saw this time. */
  add(time: number, id: number, clock: number): boolean {
    const slot = this.#slots.slotAt(time, clock, () => ({ time, ids: new Set() }))
    if (slot === null || slot.ids.has(id) || slot.ids.size >= queriesPerTimeMax) return false
    slot.ids.add(id)
    return true
  }
}
