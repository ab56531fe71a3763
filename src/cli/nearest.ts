/** The word that a mistyped one most likely meant. */

/** More changes than this are another word. */
const changesMax = 2

/**
 * The known word with the fewest changes, up to two, and fewer than the word has letters; or one that the word begins.
 * Null when nothing is near.
 */
export function nearest(word: string, known: readonly string[]): string | null {
  let best: string | null = null
  let fewest = Math.min(changesMax, word.length - 1) + 1
  for (const candidate of known) {
    const changes = distance(word, candidate)
    if (changes < fewest) {
      best = candidate
      fewest = changes
    }
  }
  if (best !== null || word.length < 2) return best
  const begun = known.filter((candidate) => candidate.startsWith(word))
  return begun.length === 1 ? (begun[0] ?? null) : null
}

/** Damerau's distance with adjacent swaps: letters added, lost, replaced or swapped. */
function distance(left: string, right: string): number {
  let before: number[] = []
  let above = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= right.length; column += 1) {
      const same = left[row - 1] === right[column - 1]
      let least = Math.min(
        (above[column - 1] ?? 0) + (same ? 0 : 1),
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
      )
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (row > 1 && column > 1 && swapped) least = Math.min(least, (before[column - 2] ?? 0) + 1)
      current.push(least)
    }
    before = above
    above = current
  }
  return above[right.length] ?? 0
}
