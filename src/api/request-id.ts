/**
 * The number by which one request is found again: in its answer's `X-Request-Id`, in the log of the server that failed,
 * in the audit log. A client may bring its own, so that it is the same through a chain of services.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { bringsToken } from './headers.ts'

export const requestIdHeader = 'X-Request-Id'

/** What may stand in a log line, a header and a text for people without any escape. */
const sane = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/

export class RequestIds {
  /** Of this process: two servers, and two lives of one, never give the same. */
  readonly #prefix = randomBytes(6).toString('hex')
  #next = 0

  /** The client's own if it is sane and not its token by mistake, else a new one. `originalUrl`: before it was written anew. */
  of({ headers, originalUrl = '' }: IncomingMessage & { originalUrl?: string }): string {
    const given = headers['x-request-id']
    const isGood = typeof given === 'string' && sane.test(given)
    const isToken = isGood && (bringsToken(headers, given) || isTokenOf(originalUrl, given))
    if (isGood && !isToken) return given
    return `${this.#prefix}-${(this.#next += 1).toString(36)}`
  }
}

function isTokenOf(url: string, text: string): boolean {
  return (
    url.includes('token=') && new URLSearchParams(url.slice(url.indexOf('?'))).has('token', text)
  )
}
