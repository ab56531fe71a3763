/**
 * Times of the day in a time zone, by the rules that this machine knows: so nothing that must be the same on all servers follows
 * from them.
 */

export const dayMs = 86_400_000

export type LocalDate = { readonly year: number; readonly month: number; readonly day: number }

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

  dateAt(ms: number): LocalDate {
    const local = new Date(ms + this.#offsetMs(ms))
    return {
      year: local.getUTCFullYear(),
      month: local.getUTCMonth() + 1,
      day: local.getUTCDate(),
    }
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
