/**
 * Subscribers to applied commands, beside what they changed: told in the order of the log, once the
 * state with them is visible. On every server, and again for entries that are replayed at a start.
 */
export type AppliedCommand<Args = unknown, Outcome = unknown> = {
  readonly index: number
  readonly args: Args
  readonly outcome: Outcome
}

/** Must not throw. */
export type CommandListener<Args = unknown, Outcome = unknown> = (
  command: AppliedCommand<Args, Outcome>,
) => void

/** A command whose write has a name. */
export type NamedCommand = {
  readonly name: string
  readonly type: string
  readonly index: number
  readonly outcome: unknown
}

/** Must not throw. */
export type NamedListener = (command: NamedCommand) => void

/** What was decoded of its entry. */
type Source<Definition> = {
  readonly definition: Definition
  readonly type: string
  readonly name: string | null
}

export class AppliedCommands<Definition> {
  readonly #listeners = new Map<Definition, Set<CommandListener>>()
  #named: NamedListener | null = null
  /** Applied, and not visible yet. */
  #untold: { readonly source: Source<Definition>; readonly command: AppliedCommand }[] = []

  /** Returns the way to stop listening. */
  listen(definition: Definition, listener: CommandListener): () => void {
    const listeners = this.#listeners.get(definition) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(definition, listeners)
    return () => listeners.delete(listener)
  }

  /** For one listener. Returns the way to stop listening. */
  listenNamed(listener: NamedListener): () => void {
    this.#named = listener
    return () => {
      this.#named = null
    }
  }

  applied(source: Source<Definition>, command: AppliedCommand): void {
    const isNamed = source.name !== null && this.#named !== null
    if (isNamed || this.#listeners.has(source.definition)) this.#untold.push({ source, command })
  }

  tell(): void {
    if (this.#untold.length === 0) return
    const told = this.#untold
    this.#untold = []
    for (const { source, command } of told) {
      const { definition, type, name } = source
      if (name !== null) {
        const { index, outcome } = command
        this.#named?.({ name, type, index, outcome })
      }
      for (const listener of this.#listeners.get(definition) ?? []) listener(command)
    }
  }
}
