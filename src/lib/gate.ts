/** A bound on how many of something run at one time; the others wait in the order they came. */
export class Gate {
  readonly #max: number
  #running = 0
  readonly #waiting: (() => void)[] = []

  constructor(max: number) {
    this.#max = max
  }

  async run<T>(run: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#max) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.push(resolve)
      await promise
    } else {
      this.#running += 1
    }
    try {
      return await run()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}
