/**
 * Cron expressions: five fields from minutes to weekdays, six with a year behind, seven with seconds before, or a name such as
 * `@daily`. A field has `*`, numbers, names of months and days, ranges, lists and steps; days also `?`, `L`, `15W`, `5L` and `5#2`.
 * As in every cron, a date fits when the day of the month or the day of the week does, if both are restricted.
 */
import { dayMs, type LocalDate, type TimeZone } from './time-zone.ts'

const months = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]
const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

type Field = {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Which may be cut down to three letters. */
  readonly words: readonly string[]
}

const second: Field = { name: 'second', min: 0, max: 59, words: [] }
const minute: Field = { name: 'minute', min: 0, max: 59, words: [] }
const hour: Field = { name: 'hour', min: 0, max: 23, words: [] }
const dayOfMonth: Field = { name: 'day of the month', min: 1, max: 31, words: [] }
const month: Field = { name: 'month', min: 1, max: 12, words: months }
const dayOfWeek: Field = { name: 'day of the week', min: 0, max: 7, words: weekdays }
const year: Field = { name: 'year', min: 1970, max: 2099, words: [] }

const named: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@hourly': '0 * * * *',
}

export const cronLengthMax = 256

/** What only days have, beside plain numbers. */
type DayOfMonthRule = {
  readonly plain: ReadonlySet<number>
  readonly last: boolean
  readonly lastWorkday: boolean
  /** The working day next to it, in the same month. */
  readonly workdaysNear: ReadonlySet<number>
}

type DayOfWeekRule = {
  /** 0 is Sunday. */
  readonly plain: ReadonlySet<number>
  readonly lastOfMonth: ReadonlySet<number>
  /** `5#2`: as 5 * 8 + 2. */
  readonly nth: ReadonlySet<number>
}

export type Cron = {
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly months: ReadonlySet<number>
  readonly years: ReadonlySet<number> | null
  readonly daysOfMonth: DayOfMonthRule
  readonly daysOfWeek: DayOfWeekRule
  readonly anyDayOfMonth: boolean
  readonly anyDayOfWeek: boolean
  /** Its hours are `*` or a step over all of them: it goes by the time that passes, also where the clocks are put back. */
  readonly everyHour: boolean
  /** Its fields are the five of every cron, with nothing special in them. */
  readonly isPlain: boolean
}

/** A text: what is wrong with it, to be read after the expression. */
export function parseCron(spec: string): Cron | string {
  const text = spec.trim().toLowerCase()
  if (text.length > cronLengthMax) return `has over ${cronLengthMax} letters`
  if (text.startsWith('@')) {
    const meant = Object.hasOwn(named, text) ? named[text] : undefined
    return meant === undefined
      ? `is none of ${Object.keys(named).join(', ')}`
      : { ...parsed(meant.split(' ')), isPlain: false }
  }
  const parts = text.split(/\s+/)
  if (parts.length < 5 || parts.length > 7) {
    return 'must have five fields: minute, hour, day of the month, month, day of the week'
  }
  try {
    return parsed(parts)
  } catch (error) {
    if (error instanceof BadItem) return error.message
    throw error
  }
}

class BadItem extends Error {
  constructor(item: string, { name, min, max }: Field) {
    super(`has no ${name} ${JSON.stringify(item)}: they go from ${min} to ${max}`)
  }
}

/** Throws `BadItem`. */
function parsed(parts: readonly string[]): Cron {
  const five = parts.length === 7 ? parts.slice(1) : parts
  const [minutes = '', hours = '', ofMonth = '', monthsOf = '', ofWeek = '', years] = five
  const seconds = parts.length === 7 ? (parts[0] ?? '') : '0'
  const fields = {
    seconds: sorted(setOf(seconds, second)),
    minutes: sorted(setOf(minutes, minute)),
    hours: sorted(setOf(hours, hour)),
    daysOfMonth: daysOfMonthOf(ofMonth),
    months: setOf(monthsOf, month),
    daysOfWeek: daysOfWeekOf(ofWeek),
    years: years === undefined ? null : setOf(years, year),
  }
  return {
    ...fields,
    anyDayOfMonth: isAny(ofMonth),
    anyDayOfWeek: isAny(ofWeek),
    everyHour: hours.split(',').some((item) => item.startsWith('*')),
    isPlain: parts.length === 5 && !hasSpecials(fields),
  }
}

function hasSpecials({
  daysOfMonth,
  daysOfWeek,
}: Pick<Cron, 'daysOfMonth' | 'daysOfWeek'>): boolean {
  const { last, lastWorkday, workdaysNear } = daysOfMonth
  const ofMonth = last || lastWorkday || workdaysNear.size > 0
  return ofMonth || daysOfWeek.lastOfMonth.size > 0 || daysOfWeek.nth.size > 0
}

function daysOfMonthOf(text: string): DayOfMonthRule {
  const items = text.split(',')
  const near = items.flatMap((item) => /^([1-9]|[12]\d|3[01])w$/.exec(item)?.[1] ?? [])
  const special = new Set(['l', 'lw', ...near.map((day) => `${day}w`)])
  const plain = items.filter((item) => !special.has(item))
  return {
    plain: plain.length === 0 ? new Set() : setOf(plain.join(','), dayOfMonth),
    last: items.includes('l'),
    lastWorkday: items.includes('lw'),
    workdaysNear: new Set(near.map(Number)),
  }
}

function daysOfWeekOf(text: string): DayOfWeekRule {
  const plain: string[] = []
  const lastOfMonth = new Set<number>()
  const nth = new Set<number>()
  for (const item of text.split(',')) {
    const [, named = '', last, which] = /^([a-z0-9]{1,9})(?:(l)|#([1-5]))$/.exec(item) ?? []
    const day = valueOf(named, dayOfWeek)
    if (item === 'l') plain.push('6')
    else if (day === null) plain.push(item)
    else if (last !== undefined) lastOfMonth.add(day % 7)
    else nth.add((day % 7) * 8 + Number(which))
  }
  const days = plain.length === 0 ? new Set<number>() : setOf(plain.join(','), dayOfWeek)
  // 7 is Sunday as well.
  return { plain: new Set([...days].map((day) => day % 7)), lastOfMonth, nth }
}

function isAny(field: string): boolean {
  return /^[*?](\/1)?$/.test(field)
}

function setOf(text: string, field: Field): Set<number> {
  const set = new Set<number>()
  const questions = field === dayOfMonth || field === dayOfWeek
  for (const item of text.split(',')) {
    const [, any, first, last, steps] =
      /^(?:([*?])|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:\/([1-9]\d{0,3}))?$/.exec(item) ?? []
    if (any === undefined && first === undefined) throw new BadItem(item, field)
    if (any === '?' && !questions) throw new BadItem(item, field)
    const from = first === undefined ? field.min : valueOf(first, field)
    // `5/10` goes on to the end of the field.
    const open = first === undefined || steps !== undefined ? field.max : from
    const end = last === undefined ? open : valueOf(last, field)
    // A range of days that ends in Sunday goes on to the end of the week.
    const to = field === dayOfWeek && end === 0 && from !== 0 ? 7 : end
    if (from === null || to === null || from > to) throw new BadItem(item, field)
    for (let value = from; value <= to; value += Number(steps ?? 1)) set.add(value)
  }
  return set
}

function valueOf(text: string, { min, max, words }: Field): number | null {
  const word = words.findIndex((name) => name === text || name.slice(0, 3) === text)
  // Months begin at 1, days of the week at 0.
  const value = word >= 0 ? word + min : /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : null
}

function sorted(set: ReadonlySet<number>): readonly number[] {
  return [...set].sort((a, b) => a - b)
}

/** Whether it names this date, whatever the time of the day. */
export function namesDate(cron: Cron, { year, month, day }: LocalDate): boolean {
  return namesMonth(cron, year, month) && (daysNamed(cron, year, month) & bitOf(day)) !== 0
}

function namesMonth(cron: Cron, year: number, month: number): boolean {
  return cron.months.has(month) && cron.years?.has(year) !== false
}

/** Days of one month as bits: the first one is the lowest. */
const everyDay = 2 ** 31 - 1

function bitOf(day: number): number {
  return 1 << (day - 1)
}

/** Of a month that it names. */
function daysNamed(cron: Cron, year: number, month: number): number {
  const first = weekdayOf(year, month, 1)
  const length = daysIn(year, month)
  const ofMonth = cron.anyDayOfMonth ? everyDay : daysByDate(cron.daysOfMonth, first, length)
  const ofWeek = cron.anyDayOfWeek ? everyDay : daysByWeekday(cron.daysOfWeek, first, length)
  const named = cron.anyDayOfMonth || cron.anyDayOfWeek ? ofMonth & ofWeek : ofMonth | ofWeek
  return named & (everyDay >> (31 - length))
}

/** `first`: the day of the week that the month begins with. */
function daysByDate(rule: DayOfMonthRule, first: number, length: number): number {
  let days = 0
  for (const day of rule.plain) days |= bitOf(day)
  if (rule.last) days |= bitOf(length)
  if (rule.lastWorkday) days |= bitOf(workdayNear(length, first, length))
  for (const near of rule.workdaysNear) {
    if (near <= length) days |= bitOf(workdayNear(near, first, length))
  }
  return days
}

function daysByWeekday(rule: DayOfWeekRule, first: number, length: number): number {
  /** The first one of a month that begins with `first`. */
  const firstOf = (weekday: number): number => 1 + ((weekday - first + 7) % 7)
  let days = 0
  for (const weekday of rule.plain) {
    for (let day = firstOf(weekday); day <= length; day += 7) days |= bitOf(day)
  }
  for (const weekday of rule.lastOfMonth) {
    const day = firstOf(weekday) + 28
    days |= bitOf(day > length ? day - 7 : day)
  }
  for (const nth of rule.nth) {
    const day = firstOf(Math.floor(nth / 8)) + 7 * ((nth % 8) - 1)
    if (day <= length) days |= bitOf(day)
  }
  return days
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate()
}

function weekdayOf(year: number, month: number, day: number): number {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay()
}

/** Saturday gives Friday, Sunday gives Monday, but none of another month. */
function workdayNear(day: number, first: number, length: number): number {
  const weekday = (first + day - 1) % 7
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === length ? day - 2 : day + 1
  return day
}

/** Days that are looked through: a 29 February that is a given weekday comes every 28 years, or 40. */
const daysMax = 15_000

/** The dates that it names, from one on or back: by months, so that looking for what never comes costs little. */
function* namedDates(cron: Cron, from: LocalDate, by: 1 | -1): Generator<LocalDate> {
  const fromDay = dayNumber(from.year, from.month, from.day)
  const [first, last] =
    by === 1 ? [fromDay, fromDay + daysMax - 1] : [fromDay - daysMax + 1, fromDay]
  let { year, month } = from
  for (;;) {
    const before = dayNumber(year, month, 0)
    // Not so for a moment that no date has, either.
    if (!(before < last && before + 31 >= first)) return
    let days = namesMonth(cron, year, month) ? daysNamed(cron, year, month) : 0
    while (days !== 0) {
      const day = by === 1 ? 32 - Math.clz32(days & -days) : 32 - Math.clz32(days)
      days &= ~bitOf(day)
      if (before + day >= first && before + day <= last) yield { year, month, day }
    }
    // A year that is not named is left at once.
    if (cron.years?.has(year) === false) month = by === 1 ? 12 : 1
    month += by
    if (month === 13 || month === 0) {
      year += by
      month = by === 1 ? 1 : 12
    }
  }
}

function dayNumber(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / dayMs
}

/** The last moment at or before `atMs` that the expression names, in UTC and whole minutes; null: there is none. */
export function lastFireMs(cron: Cron, atMs: number): number | null {
  for (const { year, month, day } of namedDates(cron, dateOf(new Date(atMs)), -1)) {
    const startMs = Date.UTC(year, month - 1, day)
    for (const hour of cron.hours.toReversed()) {
      for (const minute of cron.minutes.toReversed()) {
        const ms = startMs + (hour * 60 + minute) * 60_000
        if (ms <= atMs) return ms
      }
    }
  }
  return null
}

/**
 * The first moment after `afterMs` that the expression names in a time zone; null: there is none in the next 40 years. A time that
 * the clocks skip is none. One that comes twice is its first, and its second as well where the hours are `*` or a step.
 */
export function nextFireMs(cron: Cron, afterMs: number, zone: TimeZone): number | null {
  const first = nextFirstMs(cron, afterMs, zone)
  const second = cron.everyHour ? nextSecondMs(cron, afterMs, zone) : null
  return first === null || second === null ? (first ?? second) : Math.min(first, second)
}

/** Of the times that come twice only the first. */
function nextFirstMs(cron: Cron, afterMs: number, zone: TimeZone): number | null {
  const { secondOfDay, ...today } = zone.timeAt(afterMs)
  for (const date of namedDates(cron, today, 1)) {
    // What the clocks show first before this they do not show first after it, wherever they are put.
    const from = isSame(date, today) ? secondOfDay : 0
    for (const ms of momentsOf(cron, from, zone.momentsOn(date))) if (ms > afterMs) return ms
  }
  return null
}

/**
 * Of the times that come twice only the second, where the first was at `afterMs` or before. Of all other times the first comes
 * earlier.
 */
function nextSecondMs(cron: Cron, afterMs: number, zone: TimeZone): number | null {
  const back = zone.putBackNear(afterMs)
  if (back === null) return null
  const { changeMs, byMs, offsetMs } = back
  const shownMs = Math.max(changeMs, afterMs) + offsetMs
  const today = dateOf(new Date(shownMs))
  for (const date of namedDates(cron, today, 1)) {
    const startMs = Date.UTC(date.year, date.month - 1, date.day) - offsetMs
    if (startMs >= changeMs + byMs) return null
    const from = isSame(date, today) ? Math.floor((shownMs % dayMs) / 1_000) : 0
    for (const ms of momentsOf(cron, from, (second) => startMs + second * 1_000)) {
      if (ms >= changeMs + byMs) return null
      if (ms >= changeMs && ms > afterMs) return ms
    }
  }
  return null
}

function isSame(date: LocalDate, { year, month, day }: LocalDate): boolean {
  return date.day === day && date.month === month && date.year === year
}

/** Of the day, in order, from one of its seconds on. */
function* momentsOf(
  { hours, minutes, seconds }: Cron,
  from: number,
  momentOf: (secondOfDay: number) => number | null,
): Generator<number> {
  for (const hour of hours) {
    if ((hour + 1) * 3_600 <= from) continue
    // All of it is skipped, as every year for a schedule that names the hour on such a day only.
    if (momentOf(hour * 3_600) === null && momentOf(hour * 3_600 + 3_599) === null) continue
    for (const minute of minutes) {
      const start = (hour * 60 + minute) * 60
      if (start + 60 <= from) continue
      for (const second of seconds) {
        const ms = start + second < from ? null : momentOf(start + second)
        if (ms !== null) yield ms
      }
    }
  }
}

function dateOf(date: Date): LocalDate {
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() }
}
