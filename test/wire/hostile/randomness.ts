/** Hostile input for the RPC port, and how much of it there is: FUZZ_PACKETS says how many inputs. */
import { amount } from '../../support/randomness.ts'
import { pick } from '../../support/fuzz.ts'

export const inputsWanted = amount('FUZZ_PACKETS', { gate: 2_000, long: 4_000 })

/** Numbers at the ends of what fields can hold. */
export function number(): number {
  return pick([0, 1, 2, 3, 5, 100, 2 ** 24, 2 ** 31, 2 ** 32, 2 ** 52, Number.MAX_SAFE_INTEGER])
}
