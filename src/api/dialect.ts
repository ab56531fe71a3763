/**
 * Where the paths of two products collide, the dialect of a request decides whose shapes it gets. A request says it itself,
 * by `X-Service-Dialect` or by the header that its product sends tokens in; else the listener that it came to does.
 */
import { dialectDefault, type Dialect } from '../lib/dialects.ts'
import type { RequestHeaders } from './headers.ts'

/** In lower case, as Node gives header names. */
export const dialectHeader = 'x-service-dialect'

/** A client of the product that names no dialect. */
const consulTokenHeader = 'x-consul-token'

export function dialectOf(headers: RequestHeaders): Dialect {
  const named = headers[dialectHeader]
  if (named === 'consul' || named === 'nomad') return named
  return headers[consulTokenHeader] === undefined ? dialectDefault : 'consul'
}

/** What came to a listener of this dialect and names none reads as if it named this one, also where a proxy sends it on. */
export function speak(dialect: Dialect, headers: Record<string, unknown>): void {
  const named = headers[dialectHeader]
  if (named !== 'consul' && named !== 'nomad') headers[dialectHeader] = dialect
}
