/** Functions on times that a file has: RFC 3339, as `2026-11-26T08:00:00Z`. The time of now is none of them. */
import { formatDurationNs, parseDurationNs } from '../duration.ts'
import type { HclCall, HclFunctions } from './call.ts'

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|([+-])(\d\d):(\d\d))$/

export const dateFunctions: HclFunctions = {
  formatdate: { parameters: 'pattern, time', run: formatDate },
  timeadd: { parameters: 'time, duration', run: timeAdd },
}

type Time = {
  /** Milliseconds that would be shown in UTC as the clock of the offset shows them. */
  readonly shown: Date
  readonly offsetMinutes: number
}

function timeAt(index: number, call: HclCall): Time {
  const text = call.text(index)
  const parts = rfc3339.exec(text)
  const number = (part: number): number => Number(parts?.[part] ?? 0)
  const shown = new Date(
    Date.UTC(number(1), number(2) - 1, number(3), number(4), number(5), number(6)),
  )
  const isReal = parts !== null && shown.toISOString().startsWith(text.slice(0, 19))
  if (!isReal || number(8) > 23 || number(9) > 59) {
    return call.fail('a time is written as 2026-11-26T08:00:00Z', index)
  }
  const minutes = number(8) * 60 + number(9)
  return { shown, offsetMinutes: parts[7] === '-' ? -minutes : minutes }
}

function timeAdd(call: HclCall): string {
  const { shown, offsetMinutes } = timeAt(0, call)
  const nanoseconds = parseDurationNs(call.text(1))
  if (nanoseconds === undefined) return call.fail('a duration is written as 30s or 1h30m', 1)
  if (nanoseconds % 1_000_000_000n !== 0n) {
    call.fail(`${formatDurationNs(nanoseconds)} is no whole number of seconds`, 1)
  }
  const moved = new Date(shown.getTime() + Number(nanoseconds / 1_000_000n))
  const text = moved.toISOString()
  if (!/^\d{4}-/.test(text)) call.fail('the years of times have four digits', 1)
  return text.slice(0, 19) + zoneOf(offsetMinutes, 'Z', ':')
}

function zoneOf(offsetMinutes: number, utc: string, colon: string): string {
  if (offsetMinutes === 0 && utc !== '') return utc
  const minutes = Math.abs(offsetMinutes)
  const hour = String(Math.floor(minutes / 60)).padStart(2, '0')
  return `${offsetMinutes < 0 ? '-' : '+'}${hour}${colon}${String(minutes % 60).padStart(2, '0')}`
}

const months =
  'January February March April May June July August September October November December'.split(' ')
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

const two = (value: number): string => String(value).padStart(2, '0')
const halfDay = (hours: number): number => hours % 12 || 12

const verbs: Readonly<Record<string, (time: Time) => string>> = {
  YYYY: ({ shown }) => String(shown.getUTCFullYear()).padStart(4, '0'),
  YY: ({ shown }) => two(shown.getUTCFullYear() % 100),
  MMMM: ({ shown }) => months[shown.getUTCMonth()] ?? '',
  MMM: ({ shown }) => (months[shown.getUTCMonth()] ?? '').slice(0, 3),
  MM: ({ shown }) => two(shown.getUTCMonth() + 1),
  M: ({ shown }) => String(shown.getUTCMonth() + 1),
  DD: ({ shown }) => two(shown.getUTCDate()),
  D: ({ shown }) => String(shown.getUTCDate()),
  EEEE: ({ shown }) => days[shown.getUTCDay()] ?? '',
  EEE: ({ shown }) => (days[shown.getUTCDay()] ?? '').slice(0, 3),
  hh: ({ shown }) => two(shown.getUTCHours()),
  h: ({ shown }) => String(shown.getUTCHours()),
  HH: ({ shown }) => two(halfDay(shown.getUTCHours())),
  H: ({ shown }) => String(halfDay(shown.getUTCHours())),
  AA: ({ shown }) => (shown.getUTCHours() < 12 ? 'AM' : 'PM'),
  aa: ({ shown }) => (shown.getUTCHours() < 12 ? 'am' : 'pm'),
  mm: ({ shown }) => two(shown.getUTCMinutes()),
  m: ({ shown }) => String(shown.getUTCMinutes()),
  ss: ({ shown }) => two(shown.getUTCSeconds()),
  s: ({ shown }) => String(shown.getUTCSeconds()),
  ZZZZZ: ({ offsetMinutes }) => zoneOf(offsetMinutes, '', ':'),
  ZZZZ: ({ offsetMinutes }) => zoneOf(offsetMinutes, '', ''),
  ZZZ: ({ offsetMinutes }) => zoneOf(offsetMinutes, 'UTC', ''),
  Z: ({ offsetMinutes }) => zoneOf(offsetMinutes, 'Z', ':'),
}

/** Letters are verbs, each as often as it stands in a row; text stands in single quotes. */
function formatDate(call: HclCall): string {
  const pattern = call.text(0)
  const time = timeAt(1, call)
  const pieces: string[] = []
  for (const [piece, quoted] of pattern.matchAll(/'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z]/g)) {
    call.spend(1)
    if (quoted !== undefined) {
      pieces.push(quoted.replaceAll("''", "'"))
      continue
    }
    if (piece === "'") return call.fail("a ' of the pattern is never closed", 0)
    const verb = Object.hasOwn(verbs, piece) ? verbs[piece] : undefined
    if (verb === undefined && /[A-Za-z]/.test(piece)) {
      return call.fail(`there is no verb ${piece}; text stands in quotes, as '${piece}'`, 0)
    }
    pieces.push(verb === undefined ? piece : verb(time))
  }
  return pieces.join('')
}
