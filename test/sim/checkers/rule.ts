/** What all judges share: how they speak up, and the few words for what they are told. */
import type { LogIndex, Term } from '../../../src/raft/core/message.ts'

export type Violation = { readonly rule: string; readonly text: string }

export type Report = (violation: Violation) => void

/** An entry as judges compare it: `digest` stands for its kind and bytes. */
export type EntryMark = { readonly term: Term; readonly digest: string }

/**
 * What one server's disk surely holds of its log: a base that stands for everything up to it, then marks.
 * Kept by the simulator from what the log store confirmed, never from what the node believes.
 */
export type DiskImage = {
  readonly baseIndex: LogIndex
  readonly baseTerm: Term
  readonly lastIndex: LogIndex
  readonly term: Term
  readonly votedFor: string | null
  /** Undefined at or below the base and above the last index. */
  markAt(index: LogIndex): EntryMark | undefined
}

/** Whether that disk holds the entry `index` of `term`; a base at or above it counts, for only committed entries go. */
export function holds(image: DiskImage, index: LogIndex, term: Term): boolean {
  return index <= image.baseIndex || image.markAt(index)?.term === term
}
