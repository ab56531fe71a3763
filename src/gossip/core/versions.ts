/**
 * Protocol versions: who can talk to whom.
 *
 * memberlist lets a whole exchange fail over one entry that does not fit. Here the entry alone is refused, and never
 * taken in, so one bad claim cannot keep the others from exchanging theirs.
 */
import type { Versions } from './message.ts'

/** What a serf agent of the 0.8 to 0.9 line announces, and so do we. */
export const ownVersions: Versions = {
  protocolMin: 1,
  protocolMax: 5,
  protocolCurrent: 2,
  delegateMin: 2,
  delegateMax: 5,
  delegateCurrent: 5,
}

/** Each speaks what the other understands, in both layers. */
export function compatible(own: Versions, other: Versions): boolean {
  if (other.protocolMin < 1 || other.protocolMax < other.protocolMin) return false
  if (other.delegateMax < other.delegateMin) return false
  return (
    within(other.protocolCurrent, own.protocolMin, own.protocolMax) &&
    within(own.protocolCurrent, other.protocolMin, other.protocolMax) &&
    within(other.delegateCurrent, own.delegateMin, own.delegateMax) &&
    within(own.delegateCurrent, other.delegateMin, other.delegateMax)
  )
}

export function sameVersions(left: Versions, right: Versions): boolean {
  return (
    left.protocolMin === right.protocolMin &&
    left.protocolMax === right.protocolMax &&
    left.protocolCurrent === right.protocolCurrent &&
    left.delegateMin === right.delegateMin &&
    left.delegateMax === right.delegateMax &&
    left.delegateCurrent === right.delegateCurrent
  )
}

function within(value: number, min: number, max: number): boolean {
  return value >= min && value <= max
}
