/** Cron expressions: what they name, before and after a moment, and where clocks are put forward and back. */
import t from 'tap'
import { lastFireMs, namesDate, nextFireMs, parseCron, type Cron } from '../../src/lib/cron.ts'
import { nextOfSchedules } from '../../src/lib/schedule.ts'
import { dayMs, TimeZone, type LocalDate } from '../../src/lib/time-zone.ts'
import fc from '../support/fast-check.ts'
import { amount, seed } from '../support/randomness.ts'

const utc = new TimeZone('UTC')

function cronOf(text: string): Cron {
  const cron = parseCron(text)
  if (typeof cron === 'string') throw new Error(`${text} ${cron}`)
  return cron
}

t.test('the last moment that is named', async (t) => {
  const now = Date.UTC(2026, 2, 4, 10, 30, 15)
  const rows: readonly (readonly [string, number | null])[] = [
    ['* * * * *', Date.UTC(2026, 2, 4, 10, 30)],
    ['*/20 * * * *', Date.UTC(2026, 2, 4, 10, 20)],
    ['45 10 * * *', Date.UTC(2026, 2, 3, 10, 45)],
    ['0 0 1 * *', Date.UTC(2026, 2, 1)],
    ['0 0 * * sun', Date.UTC(2026, 2, 1)],
    ['0 0 2 * mon', Date.UTC(2026, 2, 2)],
    ['0 0 29 2 *', Date.UTC(2024, 1, 29)],
    ['0 0 31 2 *', null],
  ]
  for (const [text, expected] of rows) t.equal(lastFireMs(cronOf(text), now), expected, text)
})

t.test('the next moment that is named', async (t) => {
  // A Wednesday.
  const now = Date.UTC(2026, 2, 4, 10, 30, 15)
  const at = (month: number, day: number, hour = 0, minute = 0, second = 0): number =>
    Date.UTC(2026, month - 1, day, hour, minute, second)
  const rows: readonly (readonly [string, number | null])[] = [
    ['* * * * *', at(3, 4, 10, 31)],
    ['30 10 * * *', at(3, 5, 10, 30)],
    ['@hourly', at(3, 4, 11)],
    ['@daily', at(3, 5)],
    ['@weekly', at(3, 8)],
    ['@monthly', at(4, 1)],
    ['@yearly', Date.UTC(2027, 0, 1)],
    ['@annually', Date.UTC(2027, 0, 1)],
    ['5/20 * * * *', at(3, 4, 10, 45)],
    // Both are restricted: either is enough.
    ['0 0 10 * fri', at(3, 6)],
    ['0 0 ? * fri', at(3, 6)],
    ['0 0 10 * ?', at(3, 10)],
    ['0 0 L * *', at(3, 31)],
    // The 31st is a Tuesday, 28 February 2027 a Sunday.
    ['0 0 LW * *', at(3, 31)],
    ['0 0 LW 2 *', Date.UTC(2027, 1, 26)],
    // A Saturday gives Friday, a Sunday Monday, the first of a month that is a Saturday the third.
    ['0 0 14W 3 *', at(3, 13)],
    ['0 0 15W 3 *', at(3, 16)],
    ['0 0 1W 8 *', at(8, 3)],
    ['0 0 31W 5 *', at(5, 29)],
    ['0 0 * * 5L', at(3, 27)],
    ['0 0 * * fri#2', at(3, 13)],
    ['0 0 * * 7#1', at(4, 5)],
    ['0 0 * * L', at(3, 7)],
    ['0 0 1 1 * 2030', Date.UTC(2030, 0, 1)],
    ['0 0 1 1 * 2025', null],
    ['*/10 30 10 4 3 * 2026', at(3, 4, 10, 30, 20)],
    ['0 0 29 2 *', Date.UTC(2028, 1, 29)],
    ['0 0 31 2 *', null],
  ]
  for (const [text, expected] of rows) t.equal(nextFireMs(cronOf(text), now, utc), expected, text)
})

t.test(
  'where the clocks change, a time that is skipped does not come, and a named one that comes twice comes once',
  async (t) => {
    const berlin = new TimeZone('Europe/Berlin')
    const cron = cronOf('30 2 * * *')
    // On 29 March 2026 the clocks go from 2 to 3, on 25 October from 3 to 2.
    const firesFrom = (startMs: number): readonly (number | null)[] => {
      const first = nextFireMs(cron, startMs, berlin)
      return [first, first === null ? null : nextFireMs(cron, first, berlin)]
    }
    t.same(firesFrom(Date.UTC(2026, 2, 28, 0)), [
      Date.UTC(2026, 2, 28, 1, 30),
      Date.UTC(2026, 2, 30, 0, 30),
    ])
    t.same(firesFrom(Date.UTC(2026, 9, 24, 12)), [
      Date.UTC(2026, 9, 25, 0, 30),
      Date.UTC(2026, 9, 26, 1, 30),
    ])
    t.equal(
      nextFireMs(cronOf('0 0 * * *'), Date.UTC(2026, 6, 1, 0), new TimeZone('Pacific/Kiritimati')),
      Date.UTC(2026, 6, 1, 10),
    )
  },
)

/** Every second of every day, as the zone itself says; null: there is none within the days. */
function nextBySearch(cron: Cron, afterMs: number, zone: TimeZone, days: number): number | null {
  const today = zone.timeAt(afterMs)
  const found: number[] = []
  let sinceFound = 0
  for (let ahead = cron.everyHour ? -1 : 0; ahead < days; ahead += 1) {
    // A part of a day may come again in the day after it.
    if (found.length > 0 && (!cron.everyHour || ++sinceFound > 1)) break
    const start = new Date(Date.UTC(today.year, today.month - 1, today.day + ahead))
    const date = {
      year: start.getUTCFullYear(),
      month: start.getUTCMonth() + 1,
      day: start.getUTCDate(),
    }
    if (!namesDate(cron, date)) continue
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        for (const second of cron.seconds) {
          const ofDay = (hour * 60 + minute) * 60 + second
          const first = zone.momentOf(date, ofDay)
          const moments = cron.everyHour ? momentsShowing(zone, date, ofDay) : [first]
          found.push(...moments.filter((ms) => ms !== null && ms > afterMs).map(Number))
        }
      }
    }
  }
  return found.length === 0 ? null : Math.min(...found)
}

/** Also the second of two. */
function momentsShowing(zone: TimeZone, date: LocalDate, secondOfDay: number): readonly number[] {
  const msOf = (shown: LocalDate, second: number): number =>
    Date.UTC(shown.year, shown.month - 1, shown.day) + second * 1_000
  const shownAt = (ms: number): number => {
    const shown = zone.timeAt(ms)
    return msOf(shown, shown.secondOfDay)
  }
  const wanted = msOf(date, secondOfDay)
  const offsets = [wanted - dayMs, wanted + dayMs].map((ms) => shownAt(ms) - ms)
  return offsets.map((offset) => wanted - offset).filter((ms) => shownAt(ms) === wanted)
}

t.test('where hours are not restricted, a time that comes twice comes twice', async (t) => {
  const firesOf = (text: string, zone: string, startMs: number, count: number) => {
    const found = [startMs]
    while (found.length <= count) {
      const next = nextOfSchedules([text], zone, found.at(-1) ?? 0)
      if (next === null) throw new Error(`${text} ends`)
      found.push(next)
    }
    return found.slice(1).map((ms) => new Date(ms).toISOString().slice(8, 16))
  }
  const berlin = ['Europe/Berlin', Date.UTC(2026, 9, 25, 0, 40)] as const
  const quarters = ['00:45', '01:00', '01:15', '01:30', '01:45', '02:00', '02:15']
  const at = (times: readonly string[]) => times.map((time) => `25T${time}`)
  for (const hours of ['*', '*/1', '0,*']) {
    t.same(firesOf(`*/15 ${hours} * * *`, ...berlin, 7), at(quarters), hours)
  }
  t.same(firesOf('30 */2 * * *', ...berlin, 2), at(['01:30', '03:30']))
  t.same(firesOf('30 0-23 * * *', ...berlin, 2), at(['02:30', '03:30']), 'hours that are named')
  t.same(firesOf('30 2,3 * * *', ...berlin, 1), at(['02:30']))
  // Only this day.
  t.same(
    firesOf('59 * 25 10 * 2026', 'Europe/Berlin', Date.UTC(2026, 9, 25, 0, 59), 1),
    at(['01:59']),
  )
  const newYork = Date.UTC(2026, 10, 1, 4, 30)
  for (const text of ['0 * * * *', '@hourly']) {
    t.same(firesOf(text, 'America/New_York', newYork, 3), ['01T05:00', '01T06:00', '01T07:00'])
  }
  // From 0:01 to 23:01 of the day before.
  const stJohns = ['America/St_Johns', Date.UTC(2010, 10, 7, 2, 29)] as const
  t.same(firesOf('0,30 * * * *', ...stJohns, 4), ['07T02:30', '07T03:00', '07T03:30', '07T04:00'])
  t.same(firesOf('30 * 6 11 * 2010', ...stJohns, 1), ['07T03:00'])
})

t.test(`the next moment is that of a plain search (seed ${seed})`, async (t) => {
  // Among them a date that never came: 30 December 2011 in Apia.
  const changes: readonly (readonly [string, readonly number[]])[] = [
    ['Europe/Berlin', [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 9, 25, 1)]],
    // At 0:01, so that a part of the day before comes twice.
    ['America/St_Johns', [Date.UTC(2010, 10, 7, 2, 31), Date.UTC(2026, 2, 8, 5, 30)]],
    // Of half an hour.
    ['Australia/Lord_Howe', [Date.UTC(2026, 3, 4, 15), Date.UTC(2026, 9, 3, 15, 30)]],
    ['Pacific/Apia', [Date.UTC(2011, 11, 30, 10), Date.UTC(2012, 2, 31, 14)]],
    ['UTC', [Date.UTC(2026, 0, 1)]],
  ]
  const zones = new Map(changes.map(([name]) => [name, new TimeZone(name)]))
  const around = fc.constantFrom(...changes).chain(([name, moments]) =>
    fc.record({
      name: fc.constant(name),
      afterMs: fc
        .tuple(
          fc.constantFrom(...moments),
          fc.oneof(
            fc.integer({ min: -5_400_000, max: 5_400_000 }),
            fc.integer({ min: -3 * dayMs, max: 3 * dayMs }),
            // Late in a day of the zones, at most a minute before its end.
            fc
              .tuple(fc.integer({ min: -6, max: 6 }), fc.integer({ min: 0, max: 60_000 }))
              .map(([halves, ms]) => (halves * dayMs) / 2 - ms),
          ),
        )
        .map(([moment, ms]) => moment + ms),
    }),
  )
  const field = (min: number, max: number): fc.Arbitrary<string> =>
    fc.oneof(
      fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 3 }).map(String),
      fc.constantFrom(`*/${Math.ceil(max / 3)}`, `${max}`, `${min}`),
    )
  const hours = fc.oneof(field(0, 23), fc.constantFrom('*', '*/2', '0-3', '22,23,0'))
  const days = fc.constantFrom('* * *', '* * *', '29-31 * *', '* * sun', '30 12 *')
  const spec = fc
    .tuple(field(0, 59), field(0, 59), hours, days)
    .map((fields) => `${fields.join(' ')} *`)
  fc.assert(
    fc.property(spec, around, (text, { name, afterMs }) => {
      const zone = zones.get(name) ?? utc
      const expected = nextBySearch(cronOf(text), afterMs, zone, 800)
      t.equal(nextFireMs(cronOf(text), afterMs, zone), expected)
    }),
    { numRuns: amount('FUZZ_CRON', { gate: 300, long: 20_000 }), seed },
  )
})

/** Every day by itself, and what its month and its weekday are counted anew for each. */
function namesDay(cron: Cron, { year, month, day }: LocalDate): boolean {
  if (!cron.months.has(month) || cron.years?.has(year) === false) return false
  const weekdayOf = (other: number): number =>
    new Date(Date.UTC(year, month - 1, other)).getUTCDay()
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate()
  const workdayNear = (near: number): number => {
    const workdays = [near, near - 1, near + 1, near - 2, near + 2].filter(
      (other) => other >= 1 && other <= length && weekdayOf(other) % 6 !== 0,
    )
    return workdays[0] ?? Number.NaN
  }
  const { plain, last, lastWorkday, workdaysNear } = cron.daysOfMonth
  const ofMonth =
    plain.has(day) ||
    (last && day === length) ||
    (lastWorkday && day === workdayNear(length)) ||
    [...workdaysNear].some((near) => near <= length && day === workdayNear(near))
  const weekday = weekdayOf(day)
  const ofWeek =
    cron.daysOfWeek.plain.has(weekday) ||
    (cron.daysOfWeek.lastOfMonth.has(weekday) && day + 7 > length) ||
    cron.daysOfWeek.nth.has(weekday * 8 + Math.ceil(day / 7))
  return cron.anyDayOfMonth || cron.anyDayOfWeek ? ofMonth && ofWeek : ofMonth || ofWeek
}

/** The midnight of a date that is named, from a moment on or back, at most 15,000 days away. */
function midnightByWalk(cron: Cron, fromMs: number, by: 1 | -1): number | null {
  const today = Math.floor(fromMs / dayMs)
  for (let away = 0; away < 15_000; away += 1) {
    const ms = (today + away * by) * dayMs
    const date = new Date(ms)
    const day = date.getUTCDate()
    const named = namesDay(cron, {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth() + 1,
      day,
    })
    if (named && (by === 1 ? ms > fromMs : ms <= fromMs)) return ms
  }
  return null
}

t.test(`dates are those of a walk from day to day (seed ${seed})`, async (t) => {
  const some = (min: number, max: number): fc.Arbitrary<string> =>
    fc
      .uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 3 })
      .map((values) => values.join(','))
  const ofMonth = fc.oneof(
    fc.constantFrom('*', '*', '?', 'L', 'LW', '30,31', '31', '29', '1W', '31W', '29W,30W', '*/7'),
    some(1, 31),
    fc.integer({ min: 1, max: 31 }).map((day) => `${day}W`),
  )
  const ofWeek = fc.oneof(
    fc.constantFrom('*', '*', '?', 'L', '5L', '0#5', '1#1,sunL', 'tue#5', '1-5'),
    some(0, 7),
    fc
      .tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 1, max: 5 }))
      .map(([day, nth]) => `${day}#${nth}`),
  )
  const months = fc.oneof(fc.constantFrom('*', '2', '2', '2,4,6,9,11', '12'), some(1, 12))
  const years = fc.oneof(fc.constant('*'), fc.constantFrom('1971', '2099'), some(1970, 2099))
  const spec = fc.tuple(ofMonth, months, ofWeek, years).map((fields) => `0 0 ${fields.join(' ')}`)
  const moment = fc.oneof(
    fc.integer({ min: 0, max: Date.UTC(2110, 0, 1) }),
    fc
      .tuple(fc.integer({ min: 1970, max: 2100 }), fc.integer({ min: 0, max: 11 }))
      .map(([year, month]) => Date.UTC(year, month, 1)),
  )
  fc.assert(
    fc.property(spec, moment, (text, ms) => {
      const cron = cronOf(text)
      t.equal(nextFireMs(cron, ms, utc), midnightByWalk(cron, ms, 1), `next of ${text}`)
      t.equal(lastFireMs(cron, ms), midnightByWalk(cron, ms, -1), `last of ${text}`)
      const { secondOfDay: _, ...today } = utc.timeAt(ms)
      t.equal(namesDate(cron, today), namesDay(cron, today), text)
    }),
    { numRuns: amount('FUZZ_CRON', { gate: 300, long: 20_000 }), seed },
  )
})

t.test('what never comes is looked for by months', async (t) => {
  const asked = t.capture(Date, 'UTC', Date.UTC)
  for (const text of ['0 0 30 2 *', '0 0 * * * 1971', '0 0 31 2,4,6,9,11 *', '0 0 30W 2 *']) {
    const cron = cronOf(text)
    t.equal(nextFireMs(cron, 1_800_000_000_000, utc), null, text)
    t.ok(asked().length < 1_600, text)
    t.equal(lastFireMs(cron, 1_800_000_000_000), null, text)
    t.ok(asked().length < 1_600, text)
  }
  t.equal(lastFireMs(cronOf('0 0 * * *'), 9e15), null, 'no date is so late')
})

t.test('a time that is skipped every year costs little', async (t) => {
  const berlin = new TimeZone('Europe/Berlin')
  const asked = t.capture(
    Intl.DateTimeFormat.prototype,
    'formatToParts',
    Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'formatToParts')?.value,
  )
  const now = Date.UTC(2026, 5, 1)
  t.equal(nextFireMs(cronOf('* * 2 ? 3 sunL *'), now, berlin), null)
  t.ok(asked().length < 1_200, 'by 41 dates')
  t.equal(nextFireMs(cronOf('1 2 2 ? 3 sunL *'), now, berlin), null)
  t.equal(asked().length, 1, 'the dates are known')
})

t.test('a zone is asked a few times, however late it is in the day', async (t) => {
  const berlin = new TimeZone('Europe/Berlin')
  const every = cronOf('* * * * * * *')
  const asked = t.capture(
    Intl.DateTimeFormat.prototype,
    'formatToParts',
    Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'formatToParts')?.value,
  )
  const late = Date.UTC(2026, 6, 1, 21, 58)
  t.equal(nextFireMs(every, late, berlin), late + 1_000)
  t.equal(asked().length, 5)
  // The clocks go from 3 to 2 on this day.
  const changed = Date.UTC(2026, 9, 25, 22, 58)
  t.equal(nextFireMs(every, changed, berlin), changed + 1_000)
  t.ok(asked().length < 30)
  // They show 2 for the second time, which counts for nothing where hours are named.
  const again = Date.UTC(2026, 9, 25, 1)
  t.equal(nextFireMs(cronOf('* * 0-23 * * * *'), again, berlin), Date.UTC(2026, 9, 25, 2))
  t.ok(asked().length < 30)
  t.equal(nextFireMs(every, again, berlin), again + 1_000)
  t.ok(asked().length < 30)
})

t.test('names of months and days are short or whole, and ranges end in Sunday', async (t) => {
  const same: readonly (readonly [string, string])[] = [
    ['0 0 * * SATURDAY', '0 0 * * 6'],
    ['0 0 * * Monday-fri', '0 0 * * 1-5'],
    ['0 0 * * sunday,Wednesday', '0 0 * * 0,3'],
    ['0 0 * * SundayL', '0 0 * * 0L'],
    ['0 0 * * wednesday#2', '0 0 * * 3#2'],
    ['0 0 1 January *', '0 0 1 1 *'],
    ['0 0 1 MAY,september-DEC *', '0 0 1 5,9-12 *'],
    ['0 0 * * FRI-SUN', '0 0 * * 0,5,6'],
    ['0 0 * * 5-0', '0 0 * * 5-7'],
    ['0 0 * * MON-SUNDAY/2', '0 0 * * 0,1,3,5'],
    ['0 0 * * sun-sat', '0 0 * * 0-6'],
    ['0 0 * * sun-sun', '0 0 * * 0'],
  ]
  for (const [text, plain] of same) t.same(cronOf(text), cronOf(plain), text)
})

t.test('what is no expression says what is wrong', async (t) => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['', /must have five fields/],
    ['* * * *', /must have five fields/],
    ['* * * * * * * *', /must have five fields/],
    ['@reboot', /is none of @yearly/],
    ['@constructor', /is none of @yearly/],
    ['61 * * * *', /has no minute "61": they go from 0 to 59/],
    ['? * * * *', /has no minute "\?"/],
    ['* * 0 * *', /has no day of the month "0"/],
    ['* * 32w * *', /has no day of the month "32w"/],
    ['* * * 13 *', /has no month "13"/],
    ['* * * * 8', /has no day of the week "8"/],
    ['* * * * 5#6', /has no day of the week "5#6"/],
    ['* * * * 8l', /has no day of the week "8l"/],
    ['* * * * * 1969', /has no year "1969"/],
    ['*/0 * * * *', /has no minute "\*\/0"/],
    ['* * * * satur', /has no day of the week "satur"/],
    ['* * * * fri-mon', /has no day of the week "fri-mon"/],
    ['* * * janua *', /has no month "janua"/],
    ['5-1 * * * *', /has no minute "5-1"/],
    ['1, * * * *', /has no minute ""/],
    [`${'1,'.repeat(200)}1 * * * *`, /has over 256 letters/],
  ]
  for (const [text, expected] of rows) {
    const fault = parseCron(text)
    t.match(fault, expected, text)
  }
})
