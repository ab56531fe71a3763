/** Where a WebSocket may be asked for: the paths of routes, as they are or with parameters. */

/** `paths`: as routes have them. */
export function websocketPathsOf(paths: readonly string[]): (path: string) => boolean {
  const whole = new Set(paths)
  const patterns = paths.filter((path) => path.includes('/:')).map((path) => path.split('/'))
  return (path) => whole.has(path) || patterns.some((pattern) => fits(pattern, path.split('/')))
}

function fits(pattern: readonly string[], parts: readonly string[]): boolean {
  return (
    pattern.length === parts.length &&
    pattern.every((part, at) => (part.startsWith(':') ? parts[at] !== '' : part === parts[at]))
  )
}
