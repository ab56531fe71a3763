/**
 * Stack traces that are shown to people. A bundle's launcher hands in how its frames are named after source files, which takes
 * long: code that only carries an error never asks.
 */
declare const nameSources: ((trace: string) => string) | undefined

/** Null: what was thrown has none. */
export function stackTraceOf(error: unknown): string | null {
  if (!(error instanceof Error) || error.stack === undefined) return null
  return typeof nameSources === 'function' ? nameSources(error.stack) : error.stack
}
