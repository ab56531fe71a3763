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
  }
>

export const silentLogger: Logger = {
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
  named: () => silentLogger,
}
