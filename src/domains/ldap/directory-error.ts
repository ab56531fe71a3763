/**
 * Why something asked of a directory failed, for the log and for operators. Callers of a login never see it: they get one text
 * for all failures.
 */
export type DirectoryFailure =
  /** No URL could be connected to. */
  | 'unreachable'
  /** The connection ended before the answer. */
  | 'closed'
  | 'timeout'
  /** What came was no answer to what was asked, or too much of it. */
  | 'protocol'
  /** The directory answered with a result code other than success. */
  | 'refused'
  /** The user cannot be found, or not told from another, or the password is wrong. */
  | 'user'
  /** The groups are more than are looked at. */
  | 'groups'

export class DirectoryError extends Error {
  override readonly name = 'DirectoryError'
  readonly kind: DirectoryFailure
  /** Of LDAP, with `refused`; else null. */
  readonly resultCode: number | null

  constructor(
    kind: DirectoryFailure,
    message: string,
    options: { readonly resultCode?: number; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = kind
    this.resultCode = options.resultCode ?? null
  }
}

/** A login whose groups are not all looked at is refused: one of the others might have denied something. */
export function tooMany(what: string): DirectoryError {
  return new DirectoryError('groups', `more ${what} than are looked at`)
}
