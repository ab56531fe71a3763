/**
 * How hard randomized tests try, and where their random numbers come from. The gate repeats one seed, so that it fails because of a
 * change and not because of the day; `npm run test:long` (TEST_LONG=1) draws a new one and does more. A test that uses it has the
 * seed in its name or its comments, and FUZZ_SEED repeats a run; `scripts/check/files.ts` lists the file. TEST_LONG_PERCENT has
 * the long part do less, where there is no time for all of it: the first so many of the same, but no fewer than the gate.
 */

export const long = process.env['TEST_LONG'] === '1'

export const seed = Number(process.env['FUZZ_SEED'] ?? (long ? Date.now() % 1_000_000 : 1))

const share = Number(process.env['TEST_LONG_PERCENT'] ?? 100) / 100

type Amounts = { readonly gate: number; readonly long: number }

/** How many: what the variable says, else one of these two. */
export function amount(variable: string, many: Amounts): number {
  return Number(process.env[variable] ?? wanted(many))
}

function wanted(many: Amounts): number {
  return long ? Math.max(Math.min(many.gate, many.long), Math.ceil(many.long * share)) : many.gate
}

export type SeedRange = readonly [first: number, last: number]

/**
 * Seeds for what runs many: those of the variable (`A..B` or `A-B`), else from 1 on so many as are said here; in the long part as many
 * again that nobody has run before.
 */
export function seedRanges(variable: string, many: Amounts): readonly SeedRange[] {
  const named = /^(\d+)(?:\.\.|-)(\d+)$/.exec(process.env[variable] ?? '')
  if (named !== null) return [[Number(named[1]), Number(named[2])]]
  const count = wanted(many)
  if (!long) return [[1, count]]
  const first = 1_000 * (1_000 + seed)
  return [
    [1, count],
    [first, first + count - 1],
  ]
}
