/**
 * How long an issued token lives, at its making and at each renewal. A maximum counts from the making; a periodic token is renewed
 * for ever unless it has an explicit maximum. Every cut is told in a warning.
 */
import { MusterError } from '../../lib/errors.ts'
import type { TokenParameters } from './token-parameters-model.ts'

/** Where neither a token, a role nor a mount says anything: 768h. */
export const systemTtlMs = 768 * 3_600_000

/** Of a mount; 0: the system's. */
export type MountLifetimes = { readonly defaultTtlMs: number; readonly maxTtlMs: number }

export const systemLifetimes: MountLifetimes = { defaultTtlMs: 0, maxTtlMs: 0 }

/** 0: not set. */
export type LifetimeParameters = Pick<
  TokenParameters,
  'ttlMs' | 'maxTtlMs' | 'explicitMaxTtlMs' | 'periodMs'
>

export type Lifetime = {
  /** From now on; at least 1. */
  readonly ttlMs: number
  /** null: not periodic. */
  readonly periodMs: number | null
  /** null: no limit of its own. */
  readonly explicitMaxTtlMs: number | null
  readonly warnings: readonly string[]
}

export function lifetimeAtLogin(parameters: LifetimeParameters, mount: MountLifetimes): Lifetime {
  const { ttlMs, maxTtlMs, periodMs } = parameters
  const explicitMaxTtlMs = orNull(parameters.explicitMaxTtlMs)
  const max = maximumOf(maxTtlMs, explicitMaxTtlMs, mount)
  const warnings: string[] = []
  if (periodMs > 0) {
    const period = cut('period', periodMs, max, warnings)
    return { ttlMs: period, periodMs: period, explicitMaxTtlMs, warnings }
  }
  const wanted = ttlMs > 0 ? ttlMs : defaultOf(mount)
  const given = cut('ttl', wanted, max, warnings)
  return { ttlMs: given, periodMs: null, explicitMaxTtlMs, warnings }
}

export type Renewal = {
  /** When the token was made. */
  readonly createTimeMs: number
  readonly nowMs: number
  /** What the caller asks for; 0: nothing. A periodic token ignores it. */
  readonly incrementMs: number
  /** Of the configuration or the role as it is now. */
  readonly present: Pick<LifetimeParameters, 'ttlMs' | 'maxTtlMs' | 'periodMs'>
  /** As it was fixed when the token was made. */
  readonly explicitMaxTtlMs: number | null
  readonly mount: MountLifetimes
}

/** Throws `invalid_argument` past the maximum. */
export function lifetimeAtRenewal(renewal: Renewal): Lifetime {
  const { createTimeMs, nowMs, incrementMs, present, explicitMaxTtlMs, mount } = renewal
  const ageMs = Math.max(0, nowMs - createTimeMs)
  const warnings: string[] = []
  if (present.periodMs > 0) {
    const longest = maximumOf(present.maxTtlMs, null, mount)
    const periodMs = cut('period', present.periodMs, longest, warnings)
    const left = leftOf(explicitMaxTtlMs ?? Infinity, ageMs)
    const ttlMs = cut('period', periodMs, left, warnings)
    return { ttlMs, periodMs, explicitMaxTtlMs, warnings }
  }
  const left = leftOf(maximumOf(present.maxTtlMs, explicitMaxTtlMs, mount), ageMs)
  const wanted =
    incrementMs > 0 ? incrementMs : present.ttlMs > 0 ? present.ttlMs : defaultOf(mount)
  const ttlMs = cut('ttl', wanted, left, warnings)
  return { ttlMs, periodMs: null, explicitMaxTtlMs, warnings }
}

function maximumOf(
  maxTtlMs: number,
  explicitMaxTtlMs: number | null,
  { maxTtlMs: mountMaxTtlMs }: MountLifetimes,
): number {
  return Math.min(
    mountMaxTtlMs > 0 ? mountMaxTtlMs : systemTtlMs,
    maxTtlMs > 0 ? maxTtlMs : Infinity,
    explicitMaxTtlMs ?? Infinity,
  )
}

function defaultOf({ defaultTtlMs }: MountLifetimes): number {
  return defaultTtlMs > 0 ? defaultTtlMs : systemTtlMs
}

function leftOf(maxMs: number, ageMs: number): number {
  const left = maxMs - ageMs
  if (left > 0) return left
  throw new MusterError(
    'invalid_argument',
    'past the maximum lifetime of the token: it cannot be renewed',
  )
}

function cut(what: 'ttl' | 'period', wantedMs: number, mostMs: number, warnings: string[]): number {
  if (wantedMs <= mostMs) return wantedMs
  warnings.push(
    `${what} of ${secondsOf(wantedMs)}s exceeds what is left of the maximum: it is cut to ${secondsOf(mostMs)}s`,
  )
  return mostMs
}

/**
 * A time that is left, as answers and warnings tell it: whole seconds, never more than is left. Only the last second is 1, as 0
 * would say that there is no end.
 */
export function secondsOf(leftMs: number): number {
  return Math.max(1, Math.floor(leftMs / 1_000))
}

function orNull(ms: number): number | null {
  return ms > 0 ? ms : null
}
