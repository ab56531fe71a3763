/**
 * Paths without the slashes at their ends. A pattern such as `/+$` looks at every run of slashes from each of its characters on: time
 * that grows with the square of a path that a client sent.
 */
const slash = 47

export function withoutSlashesAtEnd(path: string): string {
  let end = path.length
  while (end > 0 && path.charCodeAt(end - 1) === slash) end -= 1
  return path.slice(0, end)
}

/** Nor at its beginning. */
export function withoutOuterSlashes(path: string): string {
  let start = 0
  while (start < path.length && path.charCodeAt(start) === slash) start += 1
  return withoutSlashesAtEnd(path.slice(start))
}
