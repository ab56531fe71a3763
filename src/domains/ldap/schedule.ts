/**
 * Five-field cron expressions: minute, hour, day of month, month, day of week; in UTC. A field has `*`, numbers, names of
 * months and days, ranges, lists and steps. As in every cron, a date fits when the day of month or the day of week does, if
 * both are restricted.
 */

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

type FieldRule = {
  readonly min: number
  readonly max: number
  readonly names?: readonly string[]
}

const rules: readonly FieldRule[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 7, names: days },
]

export type Schedule = {
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly daysOfMonth: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  /** 0 is Sunday. */
  readonly daysOfWeek: ReadonlySet<number>
  readonly anyDayOfMonth: boolean
  readonly anyDayOfWeek: boolean
}

export const scheduleLengthMax = 256

/** Null: the text is no schedule. */
export function parseSchedule(text: string): Schedule | null {
  if (text.length > scheduleLengthMax) return null
  const fields = text.trim().split(/\s+/)
  if (fields.length !== rules.length) return null
  const sets: Set<number>[] = []
  for (const [at, rule] of rules.entries()) {
    const set = parseField((fields[at] ?? '').toLowerCase(), rule)
    if (set === null) return null
    sets.push(set)
  }
  const [minutes, hours, daysOfMonth, monthsOf, weekdays] = sets as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ]
  return {
    minutes,
    hours,
    daysOfMonth,
    months: monthsOf,
    // 7 is Sunday as well.
    daysOfWeek: new Set([...weekdays].map((day) => day % 7)),
    anyDayOfMonth: isAny(fields[2]),
    anyDayOfWeek: isAny(fields[4]),
  }
}

function isAny(field: string | undefined): boolean {
  return field !== undefined && /^[*?](\/1)?$/.test(field)
}

function parseField(text: string, rule: FieldRule): Set<number> | null {
  const set = new Set<number>()
  for (const item of text.split(',')) {
    const match = /^(?:([*?])|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:\/(\d{1,3}))?$/.exec(item)
    if (match === null) return null
    const step = match[4] === undefined ? 1 : Number(match[4])
    if (step < 1) return null
    const from = match[1] === undefined ? numberOf(match[2], rule) : rule.min
    const single = match[4] === undefined ? from : rule.max
    const to =
      match[1] !== undefined ? rule.max : match[3] === undefined ? single : numberOf(match[3], rule)
    if (from === null || to === null || from > to) return null
    for (let value = from; value <= to; value += step) set.add(value)
  }
  return set
}

function numberOf(text: string | undefined, { min, max, names }: FieldRule): number | null {
  if (text === undefined) return null
  const named = names?.indexOf(text) ?? -1
  // Months begin at 1, days of the week at 0.
  const value = named >= 0 ? named + min : /^\d{1,2}$/.test(text) ? Number(text) : NaN
  return value >= min && value <= max ? value : null
}

/** Days that are looked back: a 29 February that is a given weekday comes every 28 years, or 40. */
const daysMax = 15_000
const dayMs = 86_400_000

/** The last moment at or before `atMs` that the schedule names, in UTC; null: there is none. */
export function lastFireMs(schedule: Schedule, atMs: number): number | null {
  const lastMinute = (ms: number): number => Math.floor(ms / 60_000) * 60_000
  const today = Math.floor(atMs / dayMs) * dayMs
  for (let day = 0; day < daysMax; day += 1) {
    const startMs = today - day * dayMs
    if (!isDay(schedule, new Date(startMs))) continue
    const endMs = day === 0 ? lastMinute(atMs) : startMs + dayMs - 60_000
    for (let ms = endMs; ms >= startMs; ms -= 60_000) {
      const minutes = Math.floor((ms - startMs) / 60_000)
      const isTime =
        schedule.hours.has(Math.floor(minutes / 60)) && schedule.minutes.has(minutes % 60)
      if (isTime) return ms
    }
  }
  return null
}

function isDay(schedule: Schedule, date: Date): boolean {
  if (!schedule.months.has(date.getUTCMonth() + 1)) return false
  const ofMonth = schedule.daysOfMonth.has(date.getUTCDate())
  const ofWeek = schedule.daysOfWeek.has(date.getUTCDay())
  if (schedule.anyDayOfMonth || schedule.anyDayOfWeek) return ofMonth && ofWeek
  return ofMonth || ofWeek
}
