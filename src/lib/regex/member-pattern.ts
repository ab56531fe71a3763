/** Regular expressions that members of the gossip pool send to all others: in queries and in user events. */
import { LruMap } from '../lru-map.ts'
import { compilePattern, type Pattern } from './pattern.ts'

/** A packet may bring thousands of patterns, and one of 5,000 states takes a millisecond to compile alone. Names and tags need less. */
export const memberStatesMax = 250

/** The last ones, by source: the same message comes by several members. */
const recent = new LruMap<string, Pattern>(64)

/** Throws `invalid_argument` for one that RE2 or the bound refuses. */
export function memberPattern(source: string): Pattern {
  const known = recent.get(source)
  if (known !== undefined) return known
  const pattern = compilePattern(source, memberStatesMax)
  recent.set(source, pattern)
  return pattern
}
