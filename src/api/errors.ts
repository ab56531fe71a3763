/** The one map from error code to HTTP status, and the two shapes of an error's body. */
import type { ErrorCode } from '../lib/errors.ts'
import { codeOf, MusterError } from '../lib/errors.ts'

const statusByCode = {
  invalid_argument: 400,
  unauthenticated: 403,
  permission_denied: 403,
  not_found: 404,
  gone: 410,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  // Consul and Nomad answer 500 for all that has to do with a missing leader, and their clients try again on it.
  not_leader: 500,
  no_leader: 500,
  outcome_unknown: 500,
  // A bound of this server; one of this caller is 429.
  overloaded: 503,
  rate_limited: 429,
  unavailable: 503,
  cancelled: 503,
  timeout: 504,
  not_implemented: 501,
  incompatible: 500,
  corrupt: 500,
  internal: 500,
} as const satisfies Record<ErrorCode, number>

export function errorStatus(code: ErrorCode): number {
  return statusByCode[code]
}

/** Seconds after which a client that met 503 or 429 may come back. */
const retryAfterSeconds = 1

/** A refusal that only HTTP knows. */
export class HttpRefusal extends MusterError {
  readonly status: number
  /** When to come back; null: as the status says by itself. */
  readonly retryAfterSeconds: number | null

  constructor(status: number, message: string, retryAfterSeconds: number | null = null) {
    super('invalid_argument', message)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export type ErrorReply = {
  readonly status: number
  /** What the body says. */
  readonly text: string
  readonly type: string
  readonly body: string
  readonly retryAfter: number | null
}

/** Paths, as sent or as read, whose errors, and nothing else's, are JSON: clients of Vault parse them. */
export function hasJsonErrors(path: string): boolean {
  return isOfSecrets(path) || (path.includes('%') && isOfSecrets(beginningOf(path)))
}

function isOfSecrets(path: string): boolean {
  return (
    path.startsWith('/v1/auth/') ||
    path.startsWith('/v1/sys/') ||
    path === '/v1/auth' ||
    path === '/v1/sys'
  )
}

/** Its first two segments as they are read, whatever the rest is. */
function beginningOf(path: string): string {
  const sent = path.split('/', 3).join('/')
  try {
    return decodeURIComponent(sent)
  } catch {
    return sent
  }
}

/** A defect's text stays inside: the caller gets the request's id, which the log has beside the text. */
export function errorReply(error: unknown, path: string, requestId: string): ErrorReply {
  const code = codeOf(error)
  const status = error instanceof HttpRefusal ? error.status : statusByCode[code]
  const text = textFor(error, code, path, requestId)
  return { status, text, ...errorBody(path, text), retryAfter: retryAfterOf(error, status) }
}

/** Whether it is answered with 500 or more. */
export function isServerFailure(error: unknown): boolean {
  const status = error instanceof HttpRefusal ? error.status : statusByCode[codeOf(error)]
  return status >= 500
}

function retryAfterOf(error: unknown, status: number): number | null {
  const given = error instanceof HttpRefusal ? error.retryAfterSeconds : null
  return given ?? (status === 503 || status === 429 ? retryAfterSeconds : null)
}

function textFor(error: unknown, code: ErrorCode, path: string, requestId: string): string {
  // Clients of Vault know one text for all refusals.
  if (statusByCode[code] === 403 && hasJsonErrors(path)) return 'permission denied'
  if (!(error instanceof MusterError) || code === 'internal') {
    return `internal error, request ${requestId}`
  }
  const text = oneLine(error.message)
  // The server's log has the refusal under the same id.
  return isRefusal(code) ? `${text}, request ${requestId}` : text
}

function isRefusal(code: ErrorCode): boolean {
  return code === 'permission_denied' || code === 'unauthenticated'
}

/** An empty text is an empty body, or an empty list of errors. */
export function errorBody(path: string, text: string): { type: string; body: string } {
  return hasJsonErrors(path) ? jsonErrors(text) : { type: 'text/plain; charset=utf-8', body: text }
}

/** As clients of Vault parse errors. */
export function jsonErrors(text: string): { type: string; body: string } {
  return {
    type: 'application/json',
    body: JSON.stringify({ errors: text === '' ? [] : [text] }),
  }
}

/** Nor does a name that a caller sent turn the text around it. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
}
