/** A slot for each of the last `lamportTimesMax` Lamport times; a newer time takes the slot of an older one. */

export const lamportTimesMax = 512

export class LamportSlots<Slot extends { readonly time: number }> {
  readonly #slots: (Slot | null)[] = Array.from({ length: lamportTimesMax }, () => null)

  /**
   * Of this time; null where it is too old to have one: further back than the slots reach, or another time took its slot.
   * `clock`: the Lamport clock after it saw this time. `make` makes the slot of a time that has none, `dropped` is told of
   * the one that gives way.
   */
  slotAt(
    time: number,
    clock: number,
    make: () => Slot,
    dropped: (slot: Slot) => void = () => {},
  ): Slot | null {
    if (clock > lamportTimesMax && time < clock - lamportTimesMax) return null
    const index = time % lamportTimesMax
    const known = this.#slots[index] ?? null
    if (known?.time === time) return known
    if (known !== null && known.time > time) return null
    if (known !== null) dropped(known)
    const made = make()
    this.#slots[index] = made
    return made
  }

  /** Removes the oldest, and returns it; null: there is none. */
  takeOldest(): Slot | null {
    let oldest: Slot | null = null
    for (const slot of this.#slots) {
      if (slot !== null && (oldest === null || slot.time < oldest.time)) oldest = slot
    }
    if (oldest !== null) this.#slots[oldest.time % lamportTimesMax] = null
    return oldest
  }

  list(): readonly Slot[] {
    return this.#slots.filter((slot) => slot !== null)
  }
}
