/** Times at which a job is to be looked at again. */

/** Null: there is none. */
export function earliest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times)
}
