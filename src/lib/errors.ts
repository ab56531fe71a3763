/**
 * The one table of error codes, and the one class that carries them.
 *
 * A code says what kind of failure it is; `api/errors.ts` is the only place that maps it to HTTP.
 * Messages are one line: what was wrong, and what would be right, never a secret.
 * No code compares message texts.
 */
export const errorCodes = {
  invalid_argument: 'the request is malformed or a value is out of range',
  unauthenticated: 'the token is not known',
  permission_denied: 'the token lacks the capability',
  not_found: 'the thing does not exist',
  gone: 'the thing was kept for a while and is not any more',
  method_not_allowed: 'the path exists, the method does not',
  conflict: 'a check-and-set or a state condition does not hold',
  too_large: 'a body or a value is over its limit',
  not_leader: 'this server is not the leader; nothing was appended, another may be asked',
  no_leader: 'no leader was known within the time the request could wait; nothing was done',
  overloaded: 'a bound was reached; nothing was appended, the caller may try again later',
  rate_limited:
    'this caller has its share of a bound; nothing was done, other callers may be served',
  outcome_unknown: 'the leader was lost after the proposal left: it may or may not take effect',
  timeout: 'the deadline passed',
  unavailable: 'something this request needs is not reachable now',
  cancelled: 'the caller went away',
  not_implemented: 'this program cannot do that yet',
  incompatible: 'data or a peer is of a version or cluster this program cannot work with',
  corrupt: 'a file does not hold what was written to it',
  internal: 'a defect in this program',
} as const

export type ErrorCode = keyof typeof errorCodes

export class MusterError extends Error {
  override readonly name = 'MusterError'
  readonly code: ErrorCode
  /** What the caller may see besides the text, for example the conflicting row. */
  readonly details: unknown

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details
  }
}

/** The one that is made most. */
export function invalid(message: string): MusterError {
  return new MusterError('invalid_argument', message)
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorCodes, value)
}

/** The code of anything thrown; what is not ours is a defect. */
export function codeOf(error: unknown): ErrorCode {
  return error instanceof MusterError ? error.code : 'internal'
}

/** The text of anything thrown, for logs. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The operating system's code (`ENOENT`) of an error that carries one, else ''. */
export function systemCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** How deep an error's causes are told. */
const causesToldMax = 4

/** The text of anything thrown and of its causes, outermost first, each told once. */
export function fullTextOf(error: unknown): string {
  const texts: string[] = []
  let at = error
  for (let depth = 0; depth < causesToldMax && at !== undefined && at !== null; depth += 1) {
    const text = textOf(at)
    if (!texts.some((told) => told.includes(text))) texts.push(text)
    at = at instanceof Error ? at.cause : undefined
  }
  return texts.join(': ')
}
