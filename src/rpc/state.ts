/** What `rpc` needs of the replicated state, declared here; `fsm/machine.ts` gives its form. */
import type { Reader } from '../fsm/domain.ts'

/** The rows and ranges a view has read, as the machine's watches know them. `rpc` only carries it. */
export type Touched = object

/** A reader that remembers what it read. The code that opened it closes it. */
export interface RecordingView extends Reader {
  touched(): Touched
  /** As if it had read this too. */
  alsoTouched(touched: Touched): void
  /** Harmless when done twice. */
  close(): void
}

export interface ReadableState {
  readonly appliedIndex: number
  /** `remembers`: what it reads, for `park`; otherwise it has no `touched`. */
  view(remembers: boolean): RecordingView
  /** Whether anything touched has changed after `index` (a restore changes everything). unknown: too long ago to tell. */
  changedSince(index: number, touched: Touched): boolean | 'unknown'
  /**
   * Calls `wake` once, outside of this call, as soon as something touched has changed after `sinceIndex`; when it has
   * already, at once. So nothing is missed between the reading of a view and its parking. Returns the way to leave.
   */
  park(touched: Touched, sinceIndex: number, wake: () => void): () => void
}
