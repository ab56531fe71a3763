/**
 * Which queries were seen, by Lamport time and id. Bounds: `queryTimesMax` times, `queriesPerTimeMax` ids of one time.
 */
export const queryTimesMax = 512
const queriesPerTimeMax = 64

type Slot = { readonly time: number; readonly ids: Set<number> }

export class QueryRing {
  readonly #slots: (Slot | null)[] = Array.from({ length: queryTimesMax }, () => null)

  /** True: it is news. `clock`: the query clock after it saw this time. */
  add(time: number, id: number, clock: number): boolean {
    if (clock > queryTimesMax && time < clock - queryTimesMax) return false
    const index = time % queryTimesMax
    let slot = this.#slots[index] ?? null
    if (slot !== null && slot.time > time) return false
    if (slot === null || slot.time < time) {
      slot = { time, ids: new Set() }
      this.#slots[index] = slot
    }
    if (slot.ids.has(id) || slot.ids.size >= queriesPerTimeMax) return false
    slot.ids.add(id)
    return true
  }
}
