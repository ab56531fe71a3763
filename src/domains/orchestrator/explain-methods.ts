/**
 * A login as an operator has it explained: the same steps, each with its time, and the rule that refused. Nobody is given a
 * token, and nothing of the JWT is shown but the account that it names, once that was read.
 */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLocalMethod } from '../../rpc/method.ts'
import { admittedBy } from '../acl/bound-cidrs.ts'
import { issuedPolicies, whyNotGiven } from '../acl/token-parameters-model.ts'
import { At } from '../logins/at-mount.ts'
import type { Identity } from './claims.ts'
import { judgesOf, roleFor } from './login-methods.ts'
import { proveAccount, reviewWay, type ReviewWay, type Step } from './login.ts'
import { Refused } from './refused.ts'

export type ExplainedStep = {
  readonly step: Step
  readonly passed: boolean
  /** How long it took. */
  readonly ms: number
}

export type ExplainedLogin = {
  readonly allowed: boolean
  readonly rule: string | null
  readonly reason: string | null
  /** Whether the address that asks is one of the role's. */
  readonly addressAllowed: boolean
  readonly steps: readonly ExplainedStep[]
  readonly account: Identity | null
  readonly url: string
  readonly authorityFrom: ReviewWay['authorities']['from']
  readonly reviewerFrom: ReviewWay['reviewer']['from']
  readonly policies: readonly string[]
}

const explain = defineLocalMethod({
  kind: 'local',
  name: 'orchestrator.explainLogin',
  args: Type.Object({ at: At, role: Type.String(), jwt: Type.String() }),
  requires: ({ at }) => ({ resource: 'login', mount: at.path, access: 'explain' }),
  run: async (context, { at, role: name, jwt }): Promise<ExplainedLogin> => {
    if (jwt === '') throw new MusterError('invalid_argument', 'missing jwt')
    const row = await roleFor(context, at.id, name)
    const judges = judgesOf(context, row)
    const { tokens } = row.role
    const { boundCidrs } = tokens
    const addressAllowed = boundCidrs.length === 0 || admittedBy(boundCidrs)(context.caller.remote)
    const way = await reviewWay(judges)
    const begun: { readonly step: Step; readonly atMs: number }[] = []
    let account: Identity | null = null
    let refused: Refused | null = null
    try {
      account = await proveAccount(jwt, judges, (step, identity) => {
        begun.push({ step, atMs: context.clock.monotonicMs() })
        account = identity
      })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      refused = error
    }
    const endMs = context.clock.monotonicMs()
    const steps = begun.map(({ step, atMs }, place) => ({
      step,
      passed: refused === null || place < begun.length - 1,
      ms: Math.round(((begun[place + 1]?.atMs ?? endMs) - atMs) * 10) / 10,
    }))
    const added = tokens.noDefaultPolicy ? [] : ['default']
    const policies = issuedPolicies([...tokens.policies, ...added])
    const notGiven = whyNotGiven(policies, context.read().commandVersion)
    const refusal =
      refused === null
        ? refusedAfter(addressAllowed, notGiven)
        : { rule: refused.rule, reason: refused.message }
    return {
      allowed: refusal === null,
      rule: refusal?.rule ?? null,
      reason: refusal?.reason ?? null,
      addressAllowed,
      steps,
      account,
      url: way.url,
      authorityFrom: way.authorities.from,
      reviewerFrom: way.reviewer.from,
      policies,
    }
  },
})

/** What refuses an account that is proved; null: nothing. */
function refusedAfter(addressAllowed: boolean, notGiven: string | null) {
  if (!addressAllowed) return { rule: 'address', reason: 'the address is not one of the role’s' }
  return notGiven === null ? null : { rule: 'policies', reason: notGiven }
}

export const orchestratorExplainMethods = { explain }
