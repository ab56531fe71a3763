/**
 * A login as an operator has it explained: what is asked of the directory, with times, and the rule that refused. It gives no
 * token. A wrong password counts as one of a login, and a locked name is not tried: an explanation is no way around the lockout.
 */
import { Type } from 'typebox'
import { defineLocalMethod, type LocalContext } from '../../rpc/method.ts'
import { admittedBy } from '../acl/bound-cidrs.ts'
import { issuedPolicies, whyNotGiven } from '../acl/token-parameters-model.ts'
import { At } from '../logins/at-mount.ts'
import { asTheLeaderKnows } from '../logins/freshness.ts'
import { failedLogin, nameIsLocked, refusedUnproved } from '../logins/guard.ts'
import { lockNameOf } from '../logins/lock-model.ts'
import { lockOf } from '../logins/queries.ts'
import { DirectoryError } from './directory-error.ts'
import { authenticate, lookUp, type DirectoryIdentity } from './login.ts'
import {
  configured,
  emptyPassword,
  loginMsMax,
  noGroups,
  passwordLengthMax,
  policySources,
  type PolicySource,
} from './login-methods.ts'
import { nameLengthMax, type ConfigRow } from './model.ts'
import { checkName, lockKey } from './names.ts'
import { directories } from './services.ts'
import type { Answered } from './watch.ts'

/** Requests to the directory that one explanation shows. */
const stepsMax = 500

export type ExplainedLogin = {
  readonly allowed: boolean
  /** What refused: a rule of this program, or how the directory failed (`DirectoryFailure`). */
  readonly rule: string | null
  readonly reason: string | null
  /** Whether the password was sent to the directory. */
  readonly bindTried: boolean
  /** When the lock of the name ends; null: it was not locked before. */
  readonly lockedUntilMs: number | null
  readonly steps: readonly Answered[]
  readonly identity: DirectoryIdentity | null
  readonly sources: readonly PolicySource[]
  /** Of the configuration, for every login. */
  readonly configured: readonly string[]
  readonly policies: readonly string[]
  readonly warnings: readonly string[]
}

/** null: nothing refuses. */
type Refusal = { readonly rule: string; readonly reason: string } | null

const explain = defineLocalMethod({
  kind: 'local',
  name: 'ldap.explainLogin',
  args: Type.Object({
    at: At,
    username: Type.String({ maxLength: 4 * nameLengthMax }),
    /** null: the service account looks for the user and the groups, and nothing is proved. */
    password: Type.Union([Type.Null(), Type.String({ maxLength: passwordLengthMax })]),
  }),
  requires: ({ at }) => ({ resource: 'login', mount: at.path, access: 'explain' }),
  run: async (context, { at, username, password }): Promise<ExplainedLogin> => {
    checkName('the user name', username)
    await asTheLeaderKnows(context, at.id)
    const row = configured(context.read(), at.id)
    const steps: Answered[] = []
    let refusal = refusedBefore(context, at.id, row, username, password)
    let identity: DirectoryIdentity | null = null
    // Without a password a look at the directory is no try, and locks and networks do not stop it.
    const isAsked = refusal === null || password === null
    const name = lockKey(username)
    const lockedUntilMs = lockEndMs(context, at.id, name)
    if (isAsked) {
      try {
        identity = await found(context, row, username, password, (step) => {
          if (steps.length < stepsMax) steps.push(step)
        })
      } catch (error) {
        if (!(error instanceof DirectoryError)) throw error
        refusal ??= { rule: error.kind, reason: error.message }
        const isCounted = error.kind === 'user' && password !== null
        if (isCounted && (await failedLogin(context, at.id, name, null))) throw nameIsLocked()
      }
    }
    // As for a login: one that began before the lock does not tell whether the password was right.
    const wasTried = isAsked && password !== null
    if (wasTried && identity !== null && lockEndMs(context, at.id, name) !== null) {
      throw nameIsLocked()
    }
    const groups = identity?.groups ?? []
    const { tokens } = row.config
    const sources = identity === null ? [] : policySources(context.read(), row, username, groups)
    const added = tokens.noDefaultPolicy ? [] : ['default']
    const mapped = sources.flatMap(({ policies }) => policies)
    const policies = issuedPolicies([...mapped, ...tokens.policies, ...added])
    const reason = identity === null ? null : whyNotGiven(policies, context.read().commandVersion)
    if (reason !== null) refusal ??= { rule: 'policies', reason }
    return {
      allowed: refusal === null && password !== null,
      rule: refusal?.rule ?? null,
      reason: refusal?.reason ?? null,
      bindTried: wasTried,
      lockedUntilMs,
      steps,
      identity,
      sources,
      configured: tokens.policies,
      policies: identity === null ? [] : policies,
      warnings: identity !== null && groups.length === 0 ? [noGroups] : [],
    }
  },
})

/** null: the name is not locked. */
function lockEndMs(context: LocalContext, mountId: string, name: string): number | null {
  const locked = lockNameOf(name)
  const lock = locked === null ? null : lockOf(context.read(), mountId, locked)
  return lock === null || lock.untilMs <= context.clock.wallMs() ? null : lock.untilMs
}

/** By what a login is refused without asking the directory. */
function refusedBefore(
  context: LocalContext,
  mountId: string,
  { config }: ConfigRow,
  username: string,
  password: string | null,
): Refusal {
  const { boundCidrs } = config.tokens
  const { remote } = context.caller
  if (boundCidrs.length > 0 && !admittedBy(boundCidrs)(remote)) {
    return { rule: 'address', reason: `a login from the address ${remote} is not allowed` }
  }
  if (password === null) return null
  if (password === '' && config.denyNullBind) {
    return { rule: 'empty password', reason: emptyPassword().message }
  }
  const refused = refusedUnproved(context, mountId, lockKey(username))
  return refused === null ? null : { rule: 'lockout', reason: refused.message }
}

function found(
  context: LocalContext,
  row: ConfigRow,
  username: string,
  password: string | null,
  watch: (answered: Answered) => void,
): Promise<DirectoryIdentity> {
  const { clock, signal } = context
  const budget = { clock, signal, deadlineMs: clock.monotonicMs() + loginMsMax }
  return context
    .service(directories)
    .useWatched(context, row, watch, (directory) =>
      password === null
        ? lookUp(directory, username, budget)
        : authenticate(directory, username, password, budget),
    )
}

export const ldapExplainMethods = { explain }
