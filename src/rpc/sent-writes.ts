/**
 * What became of writes that this server sent to a leader and had no answer to, so that they may be sent again.
 *
 * A write that is sent has a name that no other has, and names the term in which it may be appended. The name is in its
 * entry, and this server applies all entries: it sees the write take effect, with its outcome, or sees an entry of a
 * later term first. Then the write never will take effect: entries of its term would be before that one, and the old
 * leader appends it in no other term. So nothing has to be remembered in the state, for no length of time; a server that
 * skips entries, because it got a snapshot, does not know.
 *
 * Invariant: `void` is said of a write only if no server will ever apply an entry with its name.
 */
import type { NamedCommand } from '../fsm/applied-commands.ts'
import { namedWritesVersion } from '../fsm/codec.ts'
import { firstOf } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'

/** Of the state machine; `fsm/machine.ts` gives it. */
export interface NamedWrites {
  readonly appliedTerm: number
  /** Of the snapshot that was installed last, 0 for none. */
  readonly installedIndex: number
  readonly commandVersion: number
  /** In the order of the log, before `onApplied` tells of the index. */
  onNamed(listener: (write: NamedCommand) => void): () => void
  onApplied(listener: () => void): () => void
}

/** Commands of one write that were applied, in the order of the log. At least one. */
export type AppliedParts = readonly NamedCommand[]

export type Fate =
  | { readonly type: 'applied'; readonly parts: AppliedParts }
  /** It took no effect and never will. */
  | { readonly type: 'void' }
  /** It may or may not take effect. */
  | { readonly type: 'unknown' }

export type SentWritesOptions = {
  readonly applied: NamedWrites
  readonly clock: Clock
  /** Of this process: in front of its writes' names, drawn at its start. */
  readonly prefix: string
}

export class SentWrites {
  readonly #options: SentWritesOptions
  readonly #writes = new Map<string, SentWrite>()
  readonly #waiting = new Set<SentWrite>()
  readonly #leave: readonly (() => void)[]
  #term: number
  #installedIndex: number
  #count = 0
  /** By what was learned of writes that were not answered. */
  readonly fates: Record<Fate['type'], number> = { applied: 0, void: 0, unknown: 0 }

  constructor(options: SentWritesOptions) {
    const { applied } = options
    this.#options = options
    this.#term = applied.appliedTerm
    this.#installedIndex = applied.installedIndex
    this.#leave = [
      applied.onNamed((part) => this.#writes.get(part.name)?.add(part)),
      applied.onApplied(() => this.#advanced()),
    ]
  }

  /** null as long as a server of the cluster may know no names. The caller ends it. */
  begin(): SentWrite | null {
    const { applied, prefix, clock } = this.#options
    if (applied.commandVersion < namedWritesVersion) return null
    this.#count += 1
    const write = new SentWrite(`${prefix}.${this.#count.toString(36)}`, {
      clock,
      appliedTerm: () => this.#term,
      waiting: this.#waiting,
      ended: () => this.#writes.delete(write.name),
      settled: (fate) => {
        this.fates[fate.type] += 1
      },
    })
    this.#writes.set(write.name, write)
    return write
  }

  /** Those that have not ended. */
  get size(): number {
    return this.#writes.size
  }

  stop(): void {
    for (const leave of this.#leave) leave()
  }

  #advanced(): void {
    const { appliedTerm, installedIndex } = this.#options.applied
    if (installedIndex !== this.#installedIndex) {
      this.#installedIndex = installedIndex
      for (const write of this.#writes.values()) write.lose()
    }
    this.#term = appliedTerm
    for (const write of this.#waiting) write.look()
  }
}

type SentWriteOptions = {
  readonly clock: Clock
  readonly appliedTerm: () => number
  readonly waiting: Set<SentWrite>
  readonly ended: () => void
  readonly settled: (fate: Fate) => void
}

export class SentWrite {
  readonly name: string
  readonly #options: SentWriteOptions
  readonly #parts: NamedCommand[] = []
  /** Entries were skipped, and it may be in one of them. */
  #lost = false
  #look: (() => void) | null = null

  constructor(name: string, options: SentWriteOptions) {
    this.name = name
    this.#options = options
  }

  /**
   * Resolves as soon as it is known what became of a write that may be appended in `term` and in no other, with
   * `unknown` at the deadline (monotonic ms). Rejects with `cancelled` when `signal` fires. Called once.
   */
  async fate(term: number, deadlineMs: number, signal: AbortSignal): Promise<Fate> {
    const { clock, waiting, settled } = this.#options
    const fate = await firstOf<Fate>({
      clock,
      ms: deadlineMs - clock.monotonicMs(),
      signal,
      listen: (found) => {
        this.#look = () => {
          const known = this.#known(term)
          if (known !== null) found(known)
        }
        waiting.add(this)
        this.look()
        return () => {
          waiting.delete(this)
          this.#look = null
        }
      },
      timeout: () => ({ type: 'unknown' }),
    })
    settled(fate)
    return fate
  }

  /** What is applied from now on is nobody's any more. */
  end(): void {
    this.#options.ended()
  }

  add(part: NamedCommand): void {
    this.#parts.push(part)
  }

  lose(): void {
    this.#lost = true
  }

  look(): void {
    this.#look?.()
  }

  #known(term: number): Fate | null {
    // Even of a part that was seen it is not known whether others were skipped.
    if (this.#lost) return { type: 'unknown' }
    if (this.#parts.length > 0) return { type: 'applied', parts: this.#parts }
    return this.#options.appliedTerm() > term ? { type: 'void' } : null
  }
}
