/**
 * Counters that clients prove something with (the LockIndex of a key): of two numbers of one row, the higher is the later
 * one, and no number comes twice. The rows alone cannot hold that: a restore brings rows back whose counters stand lower, and
 * a lost quorum takes the last entries along. So the state has a floor, which no restore replaces.
 *
 * Invariant: every number that a replaced state, a restored archive, or a lost end of the log may have handed out is at
 * most the floor; a domain hands out numbers above it only. Without a restore or a recovery the floor is 0.
 */
import type { Configuration } from '../raft/core/message.ts'

/** The command version of the first programs that keep it: until all servers do, none may. */
export const counterFloorVersion = 2

/** An entry raises a counter by no more than this. */
export const counterStepMax = 64

/**
 * More than the entries that a lost quorum had, and the survivors did not get, raised any counter by: 17 thousand million
 * of them. There is room for 8000 recoveries below 2^53.
 */
const lostMax = 2 ** 40

/** Of a restore at `index`; `highest`: counter of the restored rows. */
export function floorOfRestore(floor: number, highest: number, index: number): number {
  return bounded(Math.max(floor, highest) + index * counterStepMax)
}

/** Where a cluster at `index` takes the place of one that lost its quorum. */
export function floorOfSuccession(floor: number, index: number): number {
  return bounded(floor + index * counterStepMax + lostMax)
}

export function succeeds(configuration: Configuration, before: Configuration): boolean {
  return configuration.succession !== undefined && configuration.clusterId !== before.clusterId
}

function bounded(floor: number): number {
  return Math.min(floor, Number.MAX_SAFE_INTEGER)
}
