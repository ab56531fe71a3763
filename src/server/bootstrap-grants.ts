/**
 * Permission to begin a cluster. A server that wants to begin one asks every server it would begin it with, itself included,
 * and begins only when all of them agree.
 *
 * Invariant: a server agrees with one candidate at a time, and with none once it holds anything. So of two candidates
 * whose servers overlap, one at most begins. A grant lapses, for the candidate may have died; the candidate uses it
 * within a fifth of that time or not at all.
 */
import { Type, type Static } from 'typebox'
import type { Clock } from '../lib/clock.ts'

export const grantMs = 10_000
/** From the first question to the beginning of the cluster. */
export const grantUseMs = 2_000

export const GrantAnswer = Type.Union([
  Type.Object({ granted: Type.Literal(true) }),
  Type.Object({ granted: Type.Literal(false), reason: Type.String({ maxLength: 1_000 }) }),
])
export type GrantAnswer = Readonly<Static<typeof GrantAnswer>>

const Name = Type.String({ minLength: 1, maxLength: 128 })

export const GrantRequest = Type.Object({
  /** Id of the server that wants to begin. */
  candidate: Name,
  name: Name,
  region: Name,
  expect: Type.Integer(),
})
export type GrantRequest = Readonly<Static<typeof GrantRequest>>

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
