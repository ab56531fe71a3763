/**
 * Stack traces that are shown to people. A bundle's launcher hands in how its frames are named after source files, which takes
 * long: code that only carries an error never asks.
 */
import { assert } from './assert.ts'

declare const nameSources: ((trace: string) => string) | undefined

/** Null: what was thrown has none. */
export function stackTraceOf(error: unknown): string | null {
  if (!(error instanceof Error) || error.stack === undefined) return null
  return typeof nameSources === 'function' ? nameSources(error.stack) : error.stack
}

/**
 * For the first trace with a frame of a file V8 looks for all line ends in it, in a bundle for 10 to 30 ms. gRPC takes a trace when
 * a connection ends, as that to a leader that stops: a bad moment to stand still.
 */
export function prepareStackTraces(): void {
  assert(new Error().stack !== undefined, 'an error has a stack trace')
}
