/**
 * Judges of histories. A judge knows the rules of the service and nothing of its code.
 *
 * This file is the model that the linearizability judge checks against: one key as a register with a
 * modify index, and what clients saw of it. Writes get strictly growing indexes (positions in one log),
 * and a write whose index nobody ever learned has an unknown one.
 */
import { assertNever } from '../../../src/lib/assert.ts'

export type Seen = {
  /** null: the key was absent. */
  readonly value: string | null
  /** null: absent, or the client did not learn it. */
  readonly index: number | null
}

/** Surely without effect: the history is as if it had never been called. */
export type Failed = { readonly type: 'failed' }
/** May take effect at any time after its call, once, or never. */
export type Unknown = { readonly type: 'unknown' }
export type WriteOutcome = { readonly type: 'ok'; readonly index: number | null } | Failed | Unknown

export type Action =
  | { readonly type: 'put'; readonly value: string; readonly outcome: WriteOutcome }
  | {
      readonly type: 'cas'
      /** 0: only if absent. */
      readonly expectedIndex: number
      readonly value: string
      /** Refused: the register was `found` at that moment, and not at the expected index. */
      readonly outcome: WriteOutcome | { readonly type: 'refused'; readonly found: Seen }
    }
  | { readonly type: 'delete'; readonly outcome: { readonly type: 'ok' } | Failed | Unknown }
  | {
      readonly type: 'read'
      readonly outcome: { readonly type: 'ok'; readonly seen: Seen } | Failed
    }

export type Operation = Action & {
  readonly client: string
  readonly key: string
  /** One clock for all clients; A precedes B if A returned strictly before B was called. */
  readonly callMs: number
  /** Meaningless while the outcome is unknown. */
  readonly returnMs: number
}

export type Register = {
  readonly value: string | null
  /** Index of the value; null when absent or never learned. */
  readonly index: number | null
  /** Every later write has an index above this; `index` is `floor` where it is known. */
  readonly floor: number
}

export const emptyRegister: Register = { value: null, index: null, floor: 0 }

/** What one operation does, stripped of who did it and when. */
export type Step =
  | { readonly type: 'write'; readonly value: string; readonly index: number | null }
  | {
      readonly type: 'swap'
      readonly expectedIndex: number
      readonly value: string
      readonly index: number | null
    }
  | { readonly type: 'erase' }
  | { readonly type: 'observe'; readonly seen: Seen; readonly otherThanIndex: number | null }

/** The register after `step`, or null if the step cannot happen in this state. */
export function advance(state: Register, step: Step): Register | null {
  switch (step.type) {
    case 'write':
      return written(state, step.value, step.index)
    case 'swap': {
      const before = holdingIndex(state, step.expectedIndex)
      return before === null ? null : written(before, step.value, step.index)
    }
    case 'erase':
      return state.value === null ? state : { value: null, index: null, floor: state.floor }
    case 'observe': {
      const after = observed(state, step.seen)
      if (after === null || step.otherThanIndex === null) return after
      const held = after.value === null ? 0 : after.index
      return held === step.otherThanIndex ? null : after
    }
  }
  return assertNever(step)
}

function written(state: Register, value: string, index: number | null): Register | null {
  if (index === null) return { value, index: null, floor: state.floor }
  return index > state.floor ? { value, index, floor: index } : null
}

function observed(state: Register, seen: Seen): Register | null {
  if (state.value !== seen.value) return null
  if (seen.value === null || seen.index === null) return state
  return holdingIndex(state, seen.index)
}

/** The same state once its index is known to be `index` (0: absent); null if it cannot be. */
function holdingIndex(state: Register, index: number): Register | null {
  if (index === 0) return state.value === null ? state : null
  if (state.value === null) return null
  if (state.index !== null) return state.index === index ? state : null
  return index > state.floor ? { value: state.value, index, floor: index } : null
}

/** What a finished or possibly effective operation does; null for those that surely did nothing. */
export function stepOf(operation: Operation): Step | null {
  const outcome = operation.outcome
  if (outcome.type === 'failed') return null
  switch (operation.type) {
    case 'put':
      return { type: 'write', value: operation.value, index: indexOf(operation.outcome) }
    case 'cas':
      if (operation.outcome.type === 'refused') {
        const { found } = operation.outcome
        return { type: 'observe', seen: found, otherThanIndex: operation.expectedIndex }
      }
      return {
        type: 'swap',
        expectedIndex: operation.expectedIndex,
        value: operation.value,
        index: indexOf(operation.outcome),
      }
    case 'delete':
      return { type: 'erase' }
    case 'read':
      return operation.outcome.type === 'ok'
        ? { type: 'observe', seen: operation.outcome.seen, otherThanIndex: null }
        : null
  }
  return assertNever(operation)
}

function indexOf(outcome: WriteOutcome): number | null {
  return outcome.type === 'ok' ? outcome.index : null
}

export function describe(operation: Operation): string {
  const { outcome } = operation
  const call =
    operation.type === 'put'
      ? `put ${operation.value}`
      : operation.type === 'cas'
        ? `cas if index is ${operation.expectedIndex} to ${operation.value}`
        : operation.type
  const result =
    operation.type === 'read' && operation.outcome.type === 'ok'
      ? describeSeen(operation.outcome.seen)
      : outcome.type === 'refused'
        ? `refused, found ${describeSeen(outcome.found)}`
        : outcome.type === 'ok' && 'index' in outcome && outcome.index !== null
          ? `ok at index ${outcome.index}`
          : outcome.type
  const end = outcome.type === 'unknown' ? '…' : operation.returnMs.toFixed(3)
  return `[${operation.callMs.toFixed(3)} ${end}] ${operation.client}: ${call} -> ${result}`
}

function describeSeen(seen: Seen): string {
  if (seen.value === null) return 'absent'
  return seen.index === null ? seen.value : `${seen.value} at index ${seen.index}`
}
