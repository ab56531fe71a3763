/**
 * Log lines of a process: text for people, or JSON for machines, one line each whatever a message holds.
 * Lines are gathered and written together once per turn of the event loop; `flush` writes at once, before an exit.
 */
import { logLevels, type LogFields, type Logger, type LogLevel } from '../lib/log.ts'

/** Gathered text is written when it is this long, also within a turn. */
const GATHERED_LENGTH_MAX = 64 * 1024
/** One line is cut here: a stack trace fits, a dumped body does not. */
const LINE_LENGTH_MAX = 16 * 1024

export type LogSink = {
  /** Takes whole lines, newline included. */
  write(text: string): void
}

export type LogOptions = {
  readonly name: string
  readonly level: LogLevel
  readonly json: boolean
  readonly sink: LogSink
  readonly wallMs: () => number
  /** Calls back soon, in this turn of the event loop or the next. */
  readonly soon: (run: () => void) => void
}

export type ProcessLog = {
  readonly logger: Logger
  /** Writes what is gathered. */
  flush(): void
}

type Format = (
  timestamp: string,
  level: LogLevel,
  name: string,
  message: string,
  fields: LogFields,
) => string

export function createLog(options: LogOptions): ProcessLog {
  const format: Format = options.json ? jsonLine : textLine
  const lowest = logLevels.indexOf(options.level)
  let gathered = ''
  let scheduled = false

  const flush = (): void => {
    if (gathered === '') return
    const text = gathered
    gathered = ''
    options.sink.write(text)
  }

  const write = (level: LogLevel, name: string, message: string, fields: LogFields): void => {
    const timestamp = new Date(options.wallMs()).toISOString()
    gathered += `${format(timestamp, level, name, message, fields)}\n`
    if (gathered.length > GATHERED_LENGTH_MAX) return flush()
    if (scheduled) return
    scheduled = true
    options.soon(() => {
      scheduled = false
      flush()
    })
  }

  const named = (name: string): Logger => {
    const at = (level: LogLevel) =>
      logLevels.indexOf(level) < lowest
        ? () => {}
        : (message: string, fields: LogFields = {}) => write(level, name, message, fields)
    return {
      trace: at('trace'),
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      named: (part) => named(`${name}.${part}`),
    }
  }

  return { logger: named(options.name), flush }
}

/** `2026-01-31T12:00:00.000Z [INFO] s1.raft: became leader: term=3 peer="two words"` */
export const textLine: Format = (timestamp, level, name, message, fields) => {
  const pairs = present(fields).map(([key, value]) => ` ${key}=${textValue(value)}`)
  const tail = pairs.length === 0 ? '' : `:${pairs.join('')}`
  return cut(`${timestamp} [${level.toUpperCase()}] ${name}: ${oneLine(message)}${tail}`)
}

/** One JSON object; the four `@` keys come first, and a field never replaces them. */
export const jsonLine: Format = (timestamp, level, name, message, fields) => {
  const own = Object.fromEntries(present(fields).filter(([key]) => !key.startsWith('@')))
  return JSON.stringify({
    '@level': level,
    '@message': cut(message),
    '@module': name,
    '@timestamp': timestamp,
    ...own,
  })
}

type Scalar = string | number | boolean | null

function present(fields: LogFields): readonly (readonly [string, Scalar])[] {
  return Object.entries(fields).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, typeof value === 'string' ? cut(value) : value] as const],
  )
}

function textValue(value: Scalar): string {
  if (typeof value !== 'string') return String(value)
  return /^[^\s"=\p{C}]+$/u.test(value) ? value : JSON.stringify(value)
}

/** A message that holds a newline or a terminal's control letters could pass for other lines. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, (letter) => JSON.stringify(letter).slice(1, -1))
}

function cut(text: string): string {
  return text.length <= LINE_LENGTH_MAX ? text : `${text.slice(0, LINE_LENGTH_MAX)}…`
}
