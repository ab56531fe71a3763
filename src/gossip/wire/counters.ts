/** What came in and what was refused, by reason. Plain numbers that only grow; the metrics read them. */

export const refusalReasons = ['wrong-key', 'wrong-label', 'plain', 'too-large', 'broken'] as const

/**
 * `wrong-key`: encrypted, and no key of ours opens it, or we have none. `wrong-label`: of another cluster. `plain`: not
 * encrypted though we ask for it. `too-large`: over a bound. `broken`: cut off, damaged, or no message at all.
 */
export type RefusalReason = (typeof refusalReasons)[number]

export type Tally = {
  accepted: number
  readonly refused: Record<RefusalReason, number>
}

export type WireCounters = {
  readonly packets: Tally
  readonly streams: Tally
  /** Elements of accepted packets. */
  readonly messages: { accepted: number; refused: number }
  /** Members of accepted push/pulls that were left out because a field of theirs was out of its range. */
  membersLeftOut: number
}

export function emptyCounters(): WireCounters {
  return {
    packets: emptyTally(),
    streams: emptyTally(),
    messages: { accepted: 0, refused: 0 },
    membersLeftOut: 0,
  }
}

function emptyTally(): Tally {
  return {
    accepted: 0,
    refused: { 'wrong-key': 0, 'wrong-label': 0, plain: 0, 'too-large': 0, broken: 0 },
  }
}
