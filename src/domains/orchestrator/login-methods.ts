/**
 * Logging in by an orchestrator's token, and the renewal of what that gave. Callers get one text for whatever a token lacks;
 * the log has the rule that refused it, by the request's id, and nothing of the token.
 */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLocalMethod, type LocalContext } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import { admittedBy } from '../acl/bound-cidrs.ts'
import { At } from '../logins/at-mount.ts'
import { asTheLeaderKnows } from '../logins/freshness.ts'
import { admitLogin, failedLogin } from '../logins/guard.ts'
import { issueLogin, type IssuedLogin } from '../logins/issue.ts'
import type { LoginMethod } from '../logins/login-type.ts'
import { openSecret } from '../logins/secrets.ts'
import type { Identity } from './claims.ts'
import { proveAccount, type Judges } from './login.ts'
import { aliasesOf, notConfigured, reviewerOwner, type RoleRow } from './model.ts'
import { configOf, roleOf } from './queries.ts'
import { Refused } from './refused.ts'
import { parsedKeys, podFiles, reviewClients } from './services.ts'

/** What is longer names no role, and is not repeated. */
const nameShownMax = 128

const login = defineLocalMethod({
  kind: 'local',
  name: 'orchestrator.login',
  ignoresToken: true,
  args: Type.Object({ at: At, role: Type.String(), jwt: Type.String() }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { at, role: name, jwt }): Promise<IssuedLogin> => {
    if (jwt === '') throw new MusterError('invalid_argument', 'missing jwt')
    await admitLogin(context, at.id, null, refused)
    const row = await roleFor(context, at.id, name)
    const { role } = row
    const { boundCidrs } = role.tokens
    if (boundCidrs.length > 0 && !admittedBy(boundCidrs)(context.caller.remote)) {
      throw denied(`a login from the address ${context.caller.remote} is not allowed`)
    }
    const identity = await proved(context, at, jwt, judgesOf(context, row))
    return issueLogin(context, at, {
      aliases: aliasesOf(role.aliasNameSource, identity),
      name: `${identity.namespace}-${identity.name}`,
      path: 'login',
      metadata: [
        ['role', name],
        ['service_account_name', identity.name],
        ['service_account_namespace', identity.namespace],
        ['service_account_secret_name', identity.secretName],
        ['service_account_uid', identity.uid],
      ],
      policies: [],
      parameters: role.tokens,
      renewalSecret: null,
    })
  },
})

/** As the leader knows it: one that was deleted a moment ago lets nobody in, whichever server is asked. */
export async function roleFor(
  context: LocalContext,
  mountId: string,
  name: string,
): Promise<RoleRow> {
  if (name === '') throw new MusterError('invalid_argument', 'missing role')
  await asTheLeaderKnows(context, mountId)
  const row = roleOf(context.read(), mountId, name)
  if (row !== null) return row
  const shown = JSON.stringify(name.slice(0, nameShownMax))
  throw new MusterError('invalid_argument', `invalid role name ${shown}`)
}

/** By the configuration as it is now. Throws `invalid_argument` without one. */
export function judgesOf(context: LocalContext, { mountId, role }: RoleRow): Judges {
  const row = configOf(context.read(), mountId)
  if (row === null) throw notConfigured()
  const { config, hasReviewer } = row
  const reviewer = hasReviewer ? openSecret(context, reviewerOwner(mountId)) : null
  if (hasReviewer && reviewer === null) {
    throw new MusterError('internal', 'the token of the reviewer is missing')
  }
  return {
    config,
    reviewer,
    role,
    clients: context.service(reviewClients),
    pod: context.service(podFiles),
    keys: context.service(parsedKeys),
    nowMs: context.clock.wallMs(),
    signal: context.signal,
  }
}

/** Who logs in. Rejects with the one text for whatever is wrong with the token. */
async function proved(
  context: LocalContext,
  at: At,
  jwt: string,
  judges: Judges,
): Promise<Identity> {
  try {
    return await proveAccount(jwt, judges)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const { rule, message: reason } = error
    const { requestId } = context.caller
    const isTheirs = rule !== 'unreachable'
    if (isTheirs) await failedLogin(context, at.id, null, null)
    context.log[isTheirs ? 'debug' : 'warn']('a login by a service account was refused', {
      mount: at.path,
      requestId,
      rule,
      reason,
    })
    throw refused()
  }
}

function refused(): MusterError {
  return denied('permission denied')
}

/** A role that is there, with its parameters as they are now: nobody is asked again. */
const renew: LoginMethod['renew'] = async (context, { mount, token }) => {
  const name = token.metadata?.find(([key]) => key === 'role')?.[1]
  const row = name === undefined ? null : roleOf(context.read(), mount.id, name)
  if (row === null) throw denied('the role of the login does not exist any more')
  return row.role.tokens
}

export const orchestratorLogin: LoginMethod = { type: 'orchestrator', renew }

export const orchestratorLoginMethods = { login }
