/** What the caller of a method says besides its arguments, and what it is told of the call. */
import type { Abortable, AbortSource } from '../lib/lazy-abort.ts'

export type CallOptions = {
  /** Monotonic ms of the dispatcher's clock. */
  readonly deadlineMs?: number
  readonly signal?: AbortSource
  /** Of local methods and streams: which server runs it, by id, name or `leader`. Default: this one. */
  readonly at?: string | null
  /** The same: the client agent of this node runs it. */
  readonly node?: string | null
  readonly trace?: CallTrace
}

/** The same of a query. */
export type QueryOptions = {
  readonly deadlineMs?: number
  readonly signal?: Abortable
  /** What the form of the answer follows from beside the value. Absent: the answer is not shared. */
  readonly shape?: string
}

/** What the dispatcher notes of a call for its caller. */
export type CallTrace = {
  /** Becomes true when another server is asked to run it. */
  forwarded: boolean
}
