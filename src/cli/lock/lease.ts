/**
 * A lock that is held while a command runs: `muster lock`. Imported by that verb alone. The invariant of this folder: what
 * was started under a lock is dead before another session can be granted it.
 *
 * This file: the times that make it so. Let s be when a renewal was sent that was acknowledged later, by the clock of this
 * machine. Servers end a session no earlier than its TTL after they acknowledged it, so not before s + TTL:
 *
 *     s + term  <  s + kill  =  s + TTL - safety  <  s + TTL  <=  the session's end, and the next grant
 *
 * At `term` the command gets SIGTERM, at `kill` SIGKILL; each acknowledged renewal moves s. And TTL <= lock delay: a session
 * that a client ends before its time was alive at s, so what it held is not granted before s + lock delay either.
 */
import { invalid } from '../../lib/errors.ts'
import { formatDurationMs } from '../../lib/duration.ts'

export const ttlMsMin = 10_000
/** Of a lock delay no more than this counts, and no TTL may be longer than what it counts. */
export const ttlMsMax = 60_000
export const ttlMsDefault = 15_000
/** For the command to end in order. */
const graceMsMax = 5_000
const graceShare = 1 / 3
/** A timer that fires late on a busy machine, and a signal that is delivered late. */
const lateMsMax = 500
/** Clocks of two machines may differ in speed by so much; quartz does by a fiftieth of it. */
const driftShare = 1 / 100
/** Renewals begin so many times within `term`: one may be lost at each of two servers, and the third still comes in time. */
const renewalsPerTerm = 4
/** Servers under load ask for fewer renewals. More than this would bring `term` too near. */
const stretchMax = 2

/** In milliseconds from s, the moment at which the last acknowledged renewal was sent. */
export type Lease = {
  readonly ttlMs: number
  readonly lockDelayMs: number
  readonly renewAfterMs: number
  /** Of one attempt to renew at one server. */
  readonly attemptMsMax: number
  readonly graceMs: number
  readonly termAfterMs: number
  readonly killAfterMs: number
}

/** Throws `invalid_argument` for times that could leave two commands running. */
export function leaseOf(ttlMs: number, lockDelayMs: number): Lease {
  if (!(ttlMs >= ttlMsMin && ttlMs <= ttlMsMax)) {
    throw invalid(
      `the session's TTL must be from ${formatDurationMs(ttlMsMin)} to ${formatDurationMs(ttlMsMax)}, not ${formatDurationMs(ttlMs)}`,
    )
  }
  if (!(lockDelayMs >= ttlMs && lockDelayMs <= ttlMsMax)) {
    throw invalid(
      `the lock delay must be from the session's TTL, ${formatDurationMs(ttlMs)}, to ${formatDurationMs(ttlMsMax)}, not ${formatDurationMs(lockDelayMs)}: it gives a holder whose session was ended the time to end`,
    )
  }
  return timesOf(ttlMs, lockDelayMs, 1)
}

/** The times from a renewal on that was answered with this TTL, which servers under load make longer. */
export function renewed(lease: Lease, answeredTtlMs: number): Lease {
  const stretch = Math.min(stretchMax, Math.max(1, answeredTtlMs / lease.ttlMs))
  const { ttlMs, lockDelayMs } = lease
  return { ...timesOf(Math.min(answeredTtlMs, lockDelayMs), lockDelayMs, stretch), ttlMs }
}

function timesOf(ttlMs: number, lockDelayMs: number, stretch: number): Lease {
  const graceMs = Math.min(graceMsMax, ttlMs * graceShare)
  const killAfterMs = ttlMs - lateMsMax - ttlMs * driftShare
  const termAfterMs = killAfterMs - graceMs
  const turnMs = termAfterMs / renewalsPerTerm
  return {
    ttlMs,
    lockDelayMs,
    renewAfterMs: turnMs * stretch,
    attemptMsMax: turnMs,
    graceMs,
    termAfterMs,
    killAfterMs,
  }
}
