/**
 * Structured log lines. A field is a plain scalar, so that no object with a secret inside can be passed;
 * bytes and nested values do not type-check.
 */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

export type Logger = Readonly<
  Record<LogLevel, (message: string, fields?: LogFields) => void> & {
    /** The same sink under a longer name: `named('raft')` of `s1` writes as `s1.raft`. */
    named(name: string): Logger
    /** Whether a line at this level has a reader, for fields that are costly to make. */
    listens(level: LogLevel): boolean
  }
>

export type LogLine = {
  /** RFC 3339. */
  readonly timestamp: string
  readonly level: LogLevel
  readonly name: string
  readonly message: string
  readonly fields: LogFields
}

/** Listening to a process's log, also below its own level. */
export interface LogTap {
  /**
   * Hands every line at `level` or above to `take`, until the function it returns is called. `take` is called while the
   * line is logged: it is quick, never throws, and logs nothing.
   */
  follow(level: LogLevel, take: (line: LogLine) => void): () => void
}

export const silentLogger: Logger = {
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
  named: () => silentLogger,
  listens: () => false,
}
