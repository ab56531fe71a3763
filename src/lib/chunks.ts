/** Lists in parts: what one request, or one entry of the log, can hold is bounded. */

/** Each of `size` items, but for the last. */
export function chunks<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const parts: (readonly T[])[] = []
  for (let at = 0; at < items.length; at += size) parts.push(items.slice(at, at + size))
  return parts
}
