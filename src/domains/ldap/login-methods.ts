/**
 * Logging in, and the renewal of what a login gave, which logs in again. Callers get one text for all failures; the log has the
 * reason, by the request's id.
 */
import { Type } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import { codeOf, MusterError, textOf } from '../../lib/errors.ts'
import { defineLocalMethod, type LocalContext } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import { admittedBy } from '../acl/bound-cidrs.ts'
import { issuedPolicies } from '../acl/token-parameters-model.ts'
import { At } from '../logins/at-mount.ts'
import { asTheLeaderKnows } from '../logins/freshness.ts'
import { admitLogin, failedLogin } from '../logins/guard.ts'
import { issueLogin, type IssuedLogin } from '../logins/issue.ts'
import type { LoginMethod } from '../logins/login-type.ts'
import { invalidCredentials } from './directory.ts'
import { DirectoryError } from './directory-error.ts'
import { authenticate, type DirectoryIdentity } from './login.ts'
import { nameLengthMax, type ConfigRow } from './model.ts'
import { checkName, groupKey, isName, lockKey, userKeys } from './names.ts'
import { configOf, groupOf, userAtLogin } from './queries.ts'
import { directories } from './services.ts'

/** The time of one login for everything that it asks of directories. */
export const loginMsMax = 60_000
/** Of a renewal, which the leader answers. */
export const renewalMsMax = 20_000
export const passwordLengthMax = 4_096

const oneText = 'ldap operation failed: failed to bind as user'

const login = defineLocalMethod({
  kind: 'local',
  name: 'ldap.login',
  ignoresToken: true,
  args: Type.Object({
    at: At,
    username: Type.String({ maxLength: 4 * nameLengthMax }),
    password: Type.String({ maxLength: passwordLengthMax }),
  }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { at, username, password }): Promise<IssuedLogin> => {
    checkName('the user name', username)
    await asTheLeaderKnows(context, at.id)
    const before = configured(context.read(), at.id)
    const { tokens } = before.config
    if (tokens.boundCidrs.length > 0 && !admittedBy(tokens.boundCidrs)(context.caller.remote)) {
      throw denied(`a login from the address ${context.caller.remote} is not allowed`)
    }
    if (before.config.denyNullBind && password === '') throw emptyPassword()
    const beganMs = context.clock.monotonicMs()
    const name = lockKey(username)
    await admitLogin(context, at.id, name, failed)
    const asked = { mountPath: at.path, username, password, timeMs: loginMsMax }
    const { identity, row } = await proved(context, before, asked, () =>
      failedLogin(context, at.id, name, beganMs),
    )
    const issued = await issueLogin(context, at, {
      aliases: identity.aliases,
      name: username,
      path: `login/${username}`,
      metadata: [['username', username]],
      policies: policiesOf(context.read(), row, username, identity.groups),
      parameters: row.config.tokens,
      renewalSecret: password,
      lockName: name,
    }).catch(asFailed)
    const warnings = identity.groups.length === 0 ? [noGroups] : []
    return { ...issued, warnings: [...warnings, ...issued.warnings] }
  },
})

/** One text for whatever failed, and for a name that is locked. */
function failed(): MusterError {
  return new MusterError('invalid_argument', oneText)
}

/** The name was locked, or the mount disabled, while the directory was asked. */
function asFailed(error: unknown): never {
  throw codeOf(error) === 'permission_denied' ? failed() : error
}

export const noGroups =
  'no LDAP groups found in groupDN; only policies from locally-defined groups available'

/** Throws `invalid_argument` without a configuration. */
export function configured(reader: Reader, mountId: string): ConfigRow {
  const row = configOf(reader, mountId)
  if (row === null) throw new MusterError('invalid_argument', 'ldap backend not configured')
  return row
}

type Asked = {
  readonly mountPath: string
  readonly username: string
  readonly password: string
  readonly timeMs: number
}

/** `row`: the configuration that the directory was asked by. */
type Proved = { readonly identity: DirectoryIdentity; readonly row: ConfigRow }

/** Who logs in. Rejects with the one text for whatever went wrong at the directory. `onWrong`: name or password are. */
async function proved(
  context: LocalContext,
  row: ConfigRow,
  { mountPath, username, password, timeMs }: Asked,
  onWrong: () => Promise<unknown> = async () => undefined,
): Promise<Proved> {
  if (row.config.denyNullBind && password === '') throw emptyPassword()
  const { clock, signal } = context
  const budget = { clock, signal, deadlineMs: clock.monotonicMs() + timeMs }
  const by = async (row: ConfigRow): Promise<Proved> => {
    const identity = await context
      .service(directories)
      .use(context, row, (directory) => authenticate(directory, username, password, budget))
    return { identity, row }
  }
  try {
    return await by(row).catch(async (error: unknown) =>
      by(await changedSince(context, row, error)),
    )
  } catch (error) {
    if (!(error instanceof DirectoryError)) throw error
    const isTheirs = error.kind === 'user' || error.kind === 'refused'
    context.log[isTheirs ? 'debug' : 'warn']('a directory login failed', {
      mount: mountPath,
      requestId: context.caller.requestId,
      reason: error.kind,
      error: textOf(error),
    })
    if (error.kind === 'user') await onWrong()
    throw failed()
  }
}

/**
 * The configuration to try again with, where the directory did not know the service account by `row`: its password may have been
 * replaced since that was read. Throws `error` where that is not so.
 */
async function changedSince(
  context: LocalContext,
  { mountId, modifyIndex }: ConfigRow,
  error: unknown,
): Promise<ConfigRow> {
  const isStranger =
    error instanceof DirectoryError &&
    error.kind === 'refused' &&
    error.resultCode === invalidCredentials
  if (!isStranger) throw error
  await asTheLeaderKnows(context, mountId).catch(() => undefined)
  const row = configOf(context.read(), mountId)
  if (row === null || row.modifyIndex === modifyIndex) throw error
  return row
}

export function emptyPassword(): MusterError {
  return new MusterError(
    'invalid_argument',
    'password cannot be of zero length when passwordless binds are being denied',
  )
}

/** A local mapping that gives a login policies. */
export type PolicySource = {
  readonly from: 'user' | 'group'
  readonly name: string
  readonly policies: readonly string[]
}

/** Local mappings of the user, and of the groups that the user has in the directory or by the own mapping. */
export function policySources(
  reader: Pick<Reader, 'get' | 'tableIndex'>,
  { mountId, config }: ConfigRow,
  username: string,
  directoryGroups: readonly string[],
): readonly PolicySource[] {
  const user = userAtLogin(reader, mountId, userKeys(username, config))
  const groups = new Set(
    [...(user?.groups ?? []), ...directoryGroups]
      .filter(isName)
      .map((name) => groupKey(name, config)),
  )
  const mapped = [...groups].flatMap((key) => groupOf(reader, mountId, key) ?? [])
  return [
    ...mapped.map(({ name, policies }) => ({ from: 'group' as const, name, policies })),
    ...(user === null ? [] : [{ from: 'user' as const, name: user.name, policies: user.policies }]),
  ]
}

/** From local mappings; those of the configuration and `default` are added with the token. */
export function policiesOf(...mapped: Parameters<typeof policySources>): readonly string[] {
  return issuedPolicies(policySources(...mapped).flatMap(({ policies }) => policies))
}

/** Logs in again with what was sent at the login, by the configuration as it is now. */
const renew: LoginMethod['renew'] = async (context, { mount, token, secret }) => {
  const before = configured(context.read(), mount.id)
  const username = token.metadata?.find(([name]) => name === 'username')?.[1]
  if (username === undefined || secret === null) {
    throw new MusterError('invalid_argument', 'the password of the login is not known any more')
  }
  const asked = { mountPath: mount.path, username, password: secret, timeMs: renewalMsMax }
  const { identity, row } = await proved(context, before, asked)
  const { tokens } = row.config
  const now = [...policiesOf(context.read(), row, username, identity.groups), ...tokens.policies]
  if (named(now) !== named(token.policies)) {
    throw new MusterError('invalid_argument', 'policies have changed, not renewing')
  }
  return tokens
}

/** One text for one set; `default` does not count. */
function named(policies: readonly string[]): string {
  return JSON.stringify(issuedPolicies(policies).filter((name) => name !== 'default'))
}

export const loginMethod: LoginMethod = { type: 'ldap', renew, nameAtLogin: lockKey }

export const ldapLoginMethods = { login }
