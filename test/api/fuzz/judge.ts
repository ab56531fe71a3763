/** What every answer must be, whatever was asked: the rules of errors, and that what says it is JSON is JSON. */
import { isUtf8 } from 'node:buffer'
import { hasJsonErrors } from '../../../src/api/errors.ts'
import type { Route } from '../../../src/api/route.ts'
import type { HostileRequest } from './requests.ts'
import type { Outcome } from './sender.ts'

const textLengthMax = 2_000

/** Answers of 400 and above that are documents, by route and status. How a service fares is told by the status as well. */
const documents: ReadonlySet<string> = new Set([
  ...['id/*', 'name/*'].flatMap((end) =>
    [404, 429, 503].map((status) => `GET /v1/agent/health/service/${end} ${status}`),
  ),
  'PUT /v1/txn 409',
  'PUT /v1/var/* 409',
  'DELETE /v1/var/* 409',
  'GET /v1/agent/health 500',
  'GET /v1/operator/autopilot/health 429',
])

/** What is wrong with the answer; null: nothing. */
export function flawOf(route: Route, sent: HostileRequest, outcome: Outcome): string | null {
  if (outcome.type === 'open') return null
  if (outcome.type === 'broken') return outcome.why
  const { status, headers, body } = outcome
  const type = headers['content-type'] ?? ''
  if (status < 200 || (status >= 300 && status < 400)) return `status ${status}`
  if (sent.method === 'HEAD') return body.length === 0 ? null : 'a body after HEAD'
  if (type.startsWith('application/json')) {
    if (!isJson(body)) return `status ${status}: no JSON: ${excerpt(body)}`
    if (
      status < 400 ||
      hasJsonErrors(route.path) ||
      documents.has(`${route.method} ${route.path} ${status}`)
    )
      return null
    return `status ${status} as JSON: ${excerpt(body)}`
  }
  if (status < 400) return null
  if (status >= 500 && ![501, 503].includes(status) && !isOtherRegion(status, body)) {
    return `status ${status}: ${excerpt(body)}`
  }
  if (body.length === 0) return status === 404 ? null : `status ${status} without a word`
  if (!type.startsWith('text/plain')) return `status ${status} of type ${type}: ${excerpt(body)}`
  return flawOfText(body)
}

function flawOfText(body: Buffer): string | null {
  const text = body.toString()
  if (!isUtf8(body)) return `no UTF-8: ${excerpt(body)}`
  if (/\p{Cc}/u.test(text)) return `more than one line: ${JSON.stringify(text)}`
  if (text.length > textLengthMax) return `${text.length} characters: ${excerpt(body)}`
  return /\[object |\.ts:\d|node:internal/.test(text) ? `an inner matter: ${text}` : null
}

function isOtherRegion(status: number, body: Buffer): boolean {
  return status === 500 && body.toString() === 'No path to region'
}

function isJson(body: Buffer): boolean {
  if (!isUtf8(body)) return false
  try {
    JSON.parse(body.toString())
    return true
  } catch {
    return false
  }
}

function excerpt(body: Buffer): string {
  return body.toString().slice(0, 300)
}
