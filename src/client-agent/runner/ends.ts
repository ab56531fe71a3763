/** Allocations that begin once others of this agent have ended. */
type Waiting = { readonly ids: readonly string[]; readonly resolve: () => void }

export class Ends {
  readonly #isOver: (id: string) => boolean
  readonly #waiting = new Set<Waiting>()

  /** `isOver`: also of what the agent does not know. */
  constructor(isOver: (id: string) => boolean) {
    this.#isOver = isOver
  }

  /** Resolves once they have ended; null: they have. */
  until(ids: readonly string[]): Promise<void> | null {
    if (ids.every(this.#isOver)) return null
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add({ ids, resolve })
    return promise
  }

  /** One of the agent's has changed. */
  look(): void {
    for (const waiting of this.#waiting) {
      if (!waiting.ids.every(this.#isOver)) continue
      this.#waiting.delete(waiting)
      waiting.resolve()
    }
  }
}
