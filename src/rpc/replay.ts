/**
 * The answer to a write that took effect at a leader which never gave one: the method runs here, and where it proposes it
 * is handed what became of its commands. It writes nothing.
 */
import type { Command } from '../fsm/domain.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { Authorizer, Permissions } from './authorizer.ts'
import type { Proposed } from './consensus.ts'
import { MethodContext, type MethodContextOptions } from './method-context.ts'
import type { AnyLeaderMethod, Caller, Requirement } from './method.ts'
import type { AppliedParts } from './sent-writes.ts'
import type { Proposer } from './write.ts'

export type Replay = {
  readonly method: AnyLeaderMethod
  readonly args: unknown
  readonly caller: Caller
  readonly signal: AbortSignal
  readonly parts: AppliedParts
}

/**
 * Resolves or rejects as the first run did, or would have. Rejects with `outcome_unknown` when the answer cannot be made
 * from the outcomes: when the leader had not proposed all, or the method refuses now what it did then.
 */
export async function replay(
  options: MethodContextOptions & { readonly authorizer: Authorizer },
  { method, args, caller, signal, parts }: Replay,
): Promise<unknown> {
  const proposer = new ReplayedParts(parts)
  // The write may have taken the caller's token with it.
  const own = await Promise.resolve(options.authorizer.resolve(caller)).catch(() => null)
  const permissions: Permissions = {
    ...(own?.accessor !== undefined && { accessor: own.accessor }),
    // The leader allowed the write. What is shown of its outcome is decided here.
    may: (requirement: Requirement) => !proposer.begun || (own?.may(requirement) ?? false),
  }
  const context = new MethodContext(options, proposer, permissions, caller, signal, {})
  let answer
  try {
    answer = await method.run(context, args as never)
  } catch (error) {
    if (proposer.ended && codeOf(error) !== 'internal') throw context.judge(error)
    throw unanswered(parts, textOf(error))
  } finally {
    context.close()
  }
  if (!proposer.ended) throw unanswered(parts, 'it has changed again since')
  return answer
}

class ReplayedParts implements Proposer {
  readonly tookEffect = true
  readonly #parts: AppliedParts
  #taken = 0

  constructor(parts: AppliedParts) {
    this.#parts = parts
  }

  get begun(): boolean {
    return this.#taken > 0
  }

  get ended(): boolean {
    return this.#taken === this.#parts.length
  }

  propose({ type }: Command): Promise<Proposed> {
    const part = this.#parts[this.#taken]
    this.#taken += 1
    if (part === undefined || part.type !== type) {
      this.#taken = Infinity
      return Promise.reject(new MusterError('outcome_unknown', `it had to go on with ${type}`))
    }
    const { index, outcome } = part
    return Promise.resolve({ index, outcome })
  }
}

function unanswered(parts: AppliedParts, reason: string): MusterError {
  const indexes = parts.map(({ index }) => index).join(', ')
  return new MusterError(
    'outcome_unknown',
    `the leader was lost before it answered; the request took effect at index ${indexes}, but not all of its answer is known: ${reason}`,
  )
}
