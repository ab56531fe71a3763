/** What a state machine tells of named writes, as a test says. */
import type { NamedCommand } from '../../src/fsm/applied-commands.ts'
import type { NamedWrites } from '../../src/rpc/sent-writes.ts'

/** For one listener of each kind. */
export class ToldWrites implements NamedWrites {
  appliedTerm = 0
  installedIndex = 0
  commandVersion = 3
  #named: (write: NamedCommand) => void = () => {}
  #applied: () => void = () => {}

  onNamed(listener: (write: NamedCommand) => void) {
    this.#named = listener
    return () => {}
  }

  onApplied(listener: () => void) {
    this.#applied = listener
    return () => {}
  }

  protected tellNamed(write: NamedCommand): void {
    this.#named(write)
  }

  protected tellApplied(): void {
    this.#applied()
  }
}
