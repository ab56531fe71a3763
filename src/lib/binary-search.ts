/** The first whole number from `low` up to `high` for which `holds` is true, and then for all after it; `high` when there is none. */
export function firstWhere(low: number, high: number, holds: (at: number) => boolean): number {
  let first = low
  let end = high
  while (first < end) {
    const middle = Math.floor((first + end) / 2)
    if (holds(middle)) end = middle
    else first = middle + 1
  }
  return first
}
