/** Settings that are numbers, each within its own bounds. */
import { MusterError } from './errors.ts'

/** `from` and `to` are within; `right`: words for what would be right. */
export type Bounded = readonly [
  name: string,
  value: number,
  from: number,
  to: number,
  right: string,
]

/** Throws `invalid_argument` with the first that is out of its bounds. */
export function checkBounds(settings: readonly Bounded[]): void {
  for (const [name, value, from, to, right] of settings) {
    if (value >= from && value <= to) continue
    throw new MusterError('invalid_argument', `${name} must be ${right}`)
  }
}
