/**
 * Times of the day in a time zone, by the rules that this machine knows: so nothing that must be the same on all servers follows
 * from them.
 */

export const dayMs = 86_400_000

/** The clocks are put back by less: by an hour mostly, by three at most since 1970. */
const nearMs = 5 * 3_600_000

/** Of which a zone keeps what it found out. */
const datesMax = 1_024

export type LocalDate = { readonly year: number; readonly month: number; readonly day: number }

export type LocalTime = LocalDate & { readonly secondOfDay: number }

/** From then on the clocks show again what they showed so long before. `offsetMs`: how far ahead of UTC they are then. */
export type PutBack = {
  readonly changeMs: number
  readonly byMs: number
  readonly offsetMs: number
}

type MomentOf = (secondOfDay: number) => number | null

/** Null: there is none of that name. */
export function timeZoneOf(name: string): TimeZone | null {
  try {
    return new TimeZone(name)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

export class TimeZone {
  readonly #format: Intl.DateTimeFormat
  /** By the start of a date, as UTC has it. */
  readonly #moments = new Map<number, MomentOf>()
  #putBack: { readonly fromMs: number; readonly found: PutBack | null } | null = null

  /** Throws `RangeError` for a name that is none. */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-u-hc-h23', {
      timeZone: name,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  }

  /** What the clocks there show. */
  timeAt(ms: number): LocalTime {
    const local = new Date(ms + this.#offsetMs(ms))
    return {
      year: local.getUTCFullYear(),
      month: local.getUTCMonth() + 1,
      day: local.getUTCDate(),
      secondOfDay: (local.getUTCHours() * 60 + local.getUTCMinutes()) * 60 + local.getUTCSeconds(),
    }
  }

  /** `momentOf` for one date: the zone is asked a few times for all of it, and never again. */
  momentsOn(date: LocalDate): MomentOf {
    const startMs = Date.UTC(date.year, date.month - 1, date.day)
    const known = this.#moments.get(startMs)
    if (known !== undefined) return known
    const momentOf = this.#momentsOn(date, startMs)
    if (this.#moments.size === datesMax) this.#moments.clear()
    this.#moments.set(startMs, momentOf)
    return momentOf
  }

  #momentsOn(date: LocalDate, startMs: number): MomentOf {
    // All that `momentOf` looks at lies between these two.
    const firstMs = startMs - dayMs
    const lastMs = startMs + 2 * dayMs
    const before = this.#offsetMs(firstMs)
    const after = this.#offsetMs(lastMs)
    if (before === after) return (second) => startMs + second * 1_000 - before
    const changeMs = this.#changeMs(firstMs, lastMs, before)
    // The clocks are put twice within these days.
    if (this.#offsetMs(changeMs) !== after) return (second) => this.momentOf(date, second)
    return (second) => {
      const shown = startMs + second * 1_000
      if (shown - before < changeMs) return shown - before
      return shown - after >= changeMs ? shown - after : null
    }
  }

  /**
   * How the clocks are put back near a moment. Null: what they showed up to that moment they do not show again after it.
   */
  putBackNear(ms: number): PutBack | null {
    const fromMs = Math.floor(ms / 3_600_000) * 3_600_000 - nearMs
    const toMs = fromMs + 2 * nearMs
    const known = this.#putBack
    if (known?.fromMs === fromMs) return known.found
    const before = this.#offsetMs(fromMs)
    const offsetMs = this.#offsetMs(toMs)
    const byMs = before - offsetMs
    const found =
      byMs <= 0 ? null : { changeMs: this.#changeMs(fromMs, toMs, before), byMs, offsetMs }
    this.#putBack = { fromMs, found }
    return found
  }

  /** The first second from which on they are no longer so far ahead, as at `fromMs`; at `toMs` they are not. */
  #changeMs(fromMs: number, toMs: number, offset: number): number {
    let so = fromMs / 1_000
    let other = toMs / 1_000
    while (other - so > 1) {
      const middle = Math.floor((so + other) / 2)
      if (this.#offsetMs(middle * 1_000) === offset) so = middle
      else other = middle
    }
    return other * 1_000
  }

  /** When the clocks there show this; null: they never do, for they are put forward then. Of two moments, the first. */
  momentOf({ year, month, day }: LocalDate, secondOfDay: number): number | null {
    const shown = Date.UTC(year, month - 1, day) + secondOfDay * 1_000
    const before = this.#offsetMs(shown - dayMs)
    const after = this.#offsetMs(shown + dayMs)
    for (const offset of before >= after ? [before, after] : [after, before]) {
      if (this.#offsetMs(shown - offset) === offset) return shown - offset
    }
    return null
  }

  /** How far the clocks there are ahead of UTC. */
  #offsetMs(ms: number): number {
    const whole = Math.floor(ms / 1_000) * 1_000
    const shown: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(whole)) shown[type] = Number(value)
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown
    return Date.UTC(year, month - 1, day, hour, minute, second) - whole
  }
}
