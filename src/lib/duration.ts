/**
 * Durations as text in the Go style: `300ms`, `1.5h`, `2m30s`, `-1s`, `0`. Units are ns, us, ms, s, m and h; a bare
 * number (other than 0), blanks, exponents and days are refused. Nanoseconds are bigints: exact and without overflow.
 */
const unitNs: Readonly<Record<string, bigint>> = {
  __proto__: null as never,
  ns: 1n,
  us: 1_000n,
  µs: 1_000n, // micro sign
  μs: 1_000n, // Greek mu
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

/** Of durations that are numbers. */
export const nsPerMs = 1e6

/** Longest accepted duration, either sign: what 63 bits of nanoseconds hold (292 years). */
const nanosecondsMax = 2n ** 63n - 1n
/** No sensible duration is longer as text. */
export const durationLengthMax = 128

/** Nanoseconds, fractions of one cut off; undefined when the text is not a duration. */
export function parseDurationNs(text: string): bigint | undefined {
  if (text.length > durationLengthMax) return undefined
  const negative = text.startsWith('-')
  const rest = negative || text.startsWith('+') ? text.slice(1) : text
  if (rest === '0') return 0n
  if (rest === '') return undefined
  const part = /([0-9]*)(?:\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y
  let total = 0n
  while (part.lastIndex < rest.length) {
    const match = part.exec(rest)
    if (match === null) return undefined
    const [, whole = '', fraction = '', unitName = ''] = match
    const unit = unitNs[unitName]
    if (unit === undefined || (whole === '' && fraction === '')) return undefined
    total += BigInt(whole === '' ? '0' : whole) * unit
    if (fraction !== '') total += (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length)
    if (total > nanosecondsMax) return undefined
  }
  return negative ? -total : total
}

/** Milliseconds, with fractions; undefined when the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  const nanoseconds = parseDurationNs(text)
  return nanoseconds === undefined ? undefined : Number(nanoseconds) / nsPerMs
}

/** As Go prints it: `1h30m0s`, `1.5s`, `250ms`, `0s`. */
export function formatDurationNs(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s'
  if (nanoseconds < 0n) return `-${formatDurationNs(-nanoseconds)}`
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 1_000n)}µs`
  if (nanoseconds < 1_000_000_000n) return `${decimal(nanoseconds, 1_000_000n)}ms`
  const minutes = nanoseconds / 60_000_000_000n
  const seconds = decimal(nanoseconds % 60_000_000_000n, 1_000_000_000n)
  if (minutes === 0n) return `${seconds}s`
  if (minutes < 60n) return `${minutes}m${seconds}s`
  return `${minutes / 60n}h${minutes % 60n}m${seconds}s`
}

/** As `formatDurationNs`; milliseconds may have fractions. */
export function formatDurationMs(milliseconds: number): string {
  return formatDurationNs(BigInt(Math.round(milliseconds * nsPerMs)))
}

function decimal(value: bigint, unit: bigint): string {
  const whole = value / unit
  const rest = value % unit
  if (rest === 0n) return `${whole}`
  const digits = (unit + rest).toString().slice(1).replace(/0+$/, '')
  return `${whole}.${digits}`
}
