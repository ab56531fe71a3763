/**
 * Who wants to hear of commands that were applied, beside what they changed: told in the order of the log, once the
 * state with them is visible. On every server, and again for entries that are replayed at a start.
 */
export type AppliedCommand = {
  readonly index: number
  readonly args: unknown
  readonly outcome: unknown
}

/** Must not throw. */
export type CommandListener = (command: AppliedCommand) => void

export class AppliedCommands<Definition> {
  readonly #listeners = new Map<Definition, Set<CommandListener>>()
  /** Applied, and not visible yet. */
  #untold: { readonly definition: Definition; readonly command: AppliedCommand }[] = []

  /** Returns the way to stop listening. */
  listen(definition: Definition, listener: CommandListener): () => void {
    const listeners = this.#listeners.get(definition) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(definition, listeners)
    return () => listeners.delete(listener)
  }

  applied(definition: Definition, command: AppliedCommand): void {
    if (this.#listeners.has(definition)) this.#untold.push({ definition, command })
  }

  tell(): void {
    if (this.#untold.length === 0) return
    const told = this.#untold
    this.#untold = []
    for (const { definition, command } of told) {
      for (const listener of this.#listeners.get(definition) ?? []) listener(command)
    }
  }
}
