/** Majorities. */

/** How many of `voters` make a majority. */
export function majorityOf(voters: number): number {
  return Math.floor(voters / 2) + 1
}

/**
 * The greatest value that a majority has reached: with one value per voter, the k-th largest, k being the majority.
 * Of match indexes it is what may be committed; of times, since when a quorum follows. 0 when there are no voters.
 */
export function reachedByMajority(values: readonly number[]): number {
  if (values.length === 0) return 0
  const descending = values.toSorted((a, b) => b - a)
  return descending[majorityOf(values.length) - 1] ?? 0
}

export type Tally = 'won' | 'lost' | 'open'

/** Counts answers of voters; answers of others do not count. */
export function tally(voters: readonly string[], answers: ReadonlyMap<string, boolean>): Tally {
  const majority = majorityOf(voters.length)
  let granted = 0
  let refused = 0
  for (const voter of voters) {
    const answer = answers.get(voter)
    if (answer === true) granted += 1
    else if (answer === false) refused += 1
  }
  if (granted >= majority && voters.length > 0) return 'won'
  return refused > voters.length - majority ? 'lost' : 'open'
}
