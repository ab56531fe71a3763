/**
 * Permission to begin a cluster. Whoever wants to begin one asks every server it would begin it with, itself included,
 * and begins only when all of them agree.
 *
 * Invariant: a server agrees with one candidate at a time, and with none once it holds anything. So of two candidates
 * whose servers overlap, one at most begins. A grant lapses, for the candidate may have died; the candidate uses it
 * within a fifth of that time or not at all.
 */
import type { Clock } from '../lib/clock.ts'

export const grantMs = 10_000
/** From the first question to the beginning of the cluster. */
export const grantUseMs = 2_000

export type GrantAnswer =
  { readonly granted: true } | { readonly granted: false; readonly reason: string }

export type GrantRequest = {
  /** Id of the server that wants to begin. */
  readonly candidate: string
  readonly name: string
  readonly region: string
  readonly expect: number
}

export type BootstrapGrantsOptions = {
  readonly region: string
  /** 0: this server begins no cluster, and agrees with those that do. */
  readonly expect: number
  readonly holdsData: () => boolean
  readonly clock: Pick<Clock, 'monotonicMs'>
}

export class BootstrapGrants {
  readonly #options: BootstrapGrantsOptions
  #given: { readonly candidate: string; readonly name: string; readonly untilMs: number } | null =
    null

  constructor(options: BootstrapGrantsOptions) {
    this.#options = options
  }

  ask(request: GrantRequest): GrantAnswer {
    const { region, expect, holdsData, clock } = this.#options
    if (request.region !== region) {
      return refused(`it is of region ${region}, not ${request.region}`)
    }
    if (holdsData()) return refused('it holds data: join its cluster')
    if (expect !== 0 && expect !== request.expect) {
      return refused(
        `it expects ${expect} servers, not ${request.expect}: bootstrap_expect must agree`,
      )
    }
    const nowMs = clock.monotonicMs()
    const given = this.#given
    if (given !== null && given.untilMs > nowMs && given.candidate !== request.candidate) {
      return refused(`it agreed with ${given.name} already`)
    }
    const { candidate, name } = request
    this.#given = { candidate, name, untilMs: nowMs + grantMs }
    return { granted: true }
  }
}

function refused(reason: string): GrantAnswer {
  return { granted: false, reason }
}

/** Null when it is no request. */
export function parseGrantRequest(value: unknown): GrantRequest | null {
  if (typeof value !== 'object' || value === null) return null
  if (!('candidate' in value) || !('name' in value)) return null
  if (!('region' in value) || !('expect' in value)) return null
  const { candidate, name, region, expect } = value
  const texts = [candidate, name, region]
  if (!texts.every((text) => typeof text === 'string' && text !== '' && text.length <= 128)) {
    return null
  }
  if (typeof candidate !== 'string' || typeof name !== 'string' || typeof region !== 'string') {
    return null
  }
  if (typeof expect !== 'number' || !Number.isInteger(expect)) return null
  return { candidate, name, region, expect }
}

export function parseGrantAnswer(value: unknown): GrantAnswer | null {
  if (typeof value !== 'object' || value === null || !('granted' in value)) return null
  if (value.granted === true) return { granted: true }
  const reason = 'reason' in value && typeof value.reason === 'string' ? value.reason : 'no reason'
  return refused(reason.slice(0, 200))
}
