/** What happens when: a binary heap by time, first come first served among equals. */
type Entry = { readonly at: number; readonly order: number; readonly run: () => void }

export class Agenda {
  readonly #heap: Entry[] = []
  #order = 0
  now = 0

  at(time: number, run: () => void): void {
    this.#order += 1
    const entry = { at: Math.max(time, this.now), order: this.#order, run }
    const heap = this.#heap
    let index = heap.length
    heap.push(entry)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent]
      if (above === undefined || before(above, entry)) break
      heap[index] = above
      index = parent
    }
    heap[index] = entry
  }

  /** Runs all that is due until then; afterwards it is `time`. */
  runUntil(time: number): void {
    for (
      let first = this.#heap[0];
      first !== undefined && first.at <= time;
      first = this.#heap[0]
    ) {
      this.#removeFirst()
      this.now = first.at
      first.run()
    }
    this.now = time
  }

  #removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      const left = heap[child]
      if (left === undefined) break
      const right = heap[child + 1]
      if (right !== undefined && before(right, left)) child += 1
      const chosen = heap[child]
      if (chosen === undefined || before(last, chosen)) break
      heap[index] = chosen
      index = child
    }
    heap[index] = last
  }
}

function before(left: Entry, right: Entry): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order)
}
