/** How long ago something was, or is away, as precisely as people want to know it: `3m12s ago`. */

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const

/** What is yet to come by this machine's clock is now. */
export function agoOf(timeMs: number, nowMs: number): string {
  return `${spanOf(Math.floor((nowMs - timeMs) / 1_000))} ago`
}

/** What is past by this machine's clock is now. */
export function fromNow(timeMs: number, nowMs: number): string {
  return `${spanOf(Math.ceil((timeMs - nowMs) / 1_000))} from now`
}

/** In its greatest unit and the next one. */
function spanOf(count: number): string {
  const seconds = Math.max(0, count)
  const first = units.findIndex(([, size]) => seconds >= size)
  const counts = units.slice(first < 0 ? -1 : first, first < 0 ? undefined : first + 2)
  let rest = seconds
  const parts = counts.map(([unit, size], at) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 && at > 0 ? '' : `${count}${unit}`
  })
  return parts.join('')
}
