/** A log line as text for people, or as JSON for machines: one line each, whatever a message holds. */
import type { LogFields, LogLine } from './log.ts'

/** One line is cut here: a stack trace fits, a dumped body does not. */
const LINE_LENGTH_MAX = 16 * 1024

/** `2026-01-31T12:00:00.000Z [INFO] s1.raft: became leader: term=3 peer="two words"` */
export function textLine({ timestamp, level, name, message, fields }: LogLine): string {
  const pairs = present(fields).map(([key, value]) => ` ${key}=${textValue(value)}`)
  const tail = pairs.length === 0 ? '' : `:${pairs.join('')}`
  return cut(`${timestamp} [${level.toUpperCase()}] ${name}: ${oneLine(message)}${tail}`)
}

/** One JSON object; the four `@` keys come first, and a field never replaces them. */
export function jsonLine({ timestamp, level, name, message, fields }: LogLine): string {
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
