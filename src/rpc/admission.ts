/** Refusals that must not rest on a state behind the leader's: a token may have been given rights a moment ago. */
import type { Clock } from '../lib/clock.ts'
import { hasOneOf, type Authorizer, type Permissions } from './authorizer.ts'
import type { Consensus } from './consensus.ts'
import type { Caller, LeastRight } from './method.ts'
import { lacksAll } from './refusal.ts'

/** How long a refusal waits for the leader's word that nothing has changed. */
const refusalWaitMs = 2_000

const never = new AbortController().signal

export type AdmissionOptions = {
  readonly authorizer: Authorizer
  /** Null: a process without state. */
  readonly consensus: Pick<Consensus, 'readBarrier'> | null
  readonly clock: Clock
}

/** This server's state is as new as the leader's was at the call; without a leader it counts as it is. */
export async function caughtUp(
  consensus: Pick<Consensus, 'readBarrier'> | null,
  clock: Clock,
): Promise<void> {
  if (consensus === null) return
  await consensus.readBarrier('leader', clock.monotonicMs() + refusalWaitMs, never).catch(() => {})
}

/** Rejects for a caller that has none of these rights to anything, also in a state as new as the leader's. */
export async function admitLater(
  { authorizer, consensus, clock }: AdmissionOptions,
  resolving: Permissions | Promise<Permissions>,
  caller: Caller,
  rights: readonly LeastRight[],
): Promise<void> {
  let permissions = await resolving
  if (hasOneOf(permissions, rights)) return
  if (caller.token !== null) {
    await caughtUp(consensus, clock)
    permissions = await authorizer.resolve(caller)
    if (hasOneOf(permissions, rights)) return
  }
  throw lacksAll(
    permissions,
    rights.map((right) => [right]),
  )
}
