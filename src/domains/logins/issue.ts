/**
 * From a proved identity to a token. The server that got the login has proved it, however slow the directory was; the leader
 * only draws the token, and answers when it is committed.
 */
import { createHash, randomUUID } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { assertNever } from '../../lib/assert.ts'
import type { MusterError } from '../../lib/errors.ts'
import { askLeader } from '../../rpc/ask-leader.ts'
import { definePeerMethod, type LeaderContext, type LocalContext } from '../../rpc/method.ts'
import { denied } from '../../rpc/refusal.ts'
import { accessorIsTaken, writtenToken } from '../acl/issue.ts'
import { drawLoginToken, issueBatchLogin, type LoginGrant } from '../acl/login-grant.ts'
import { secondsOf } from '../acl/lifetime-model.ts'
import type { TokenRow } from '../acl/model.ts'
import { isSecretTaken } from '../acl/queries.ts'
import { TokenParameters } from '../acl/token-parameters-model.ts'
import {
  Aliases,
  aliasNameLengthMax,
  entitiesVersion,
  ruleLengthMax,
  type Alias,
} from '../entities/model.ts'
import { knownEntity } from '../entities/queries.ts'
import { createLogin, identifyLogin } from './commands.ts'
import { nameIsLocked } from './guard.ts'
import { lockNameOf } from './lock-model.ts'
import { mountTtls, MountId, type MountRow } from './model.ts'
import { isLocked, mountOf } from './queries.ts'
import { sealSecret } from './secrets.ts'
import { failedLogins } from './services.ts'

const Texts = Type.Immutable(Type.Array(Type.String()))

/** What a login method says once it knows who logs in. */
const Proved = Type.Object({
  /**
   * One identity, however often it logs in; by the present settings first, and what else the same proof says. Absent: of a
   * server that knows `alias` alone.
   */
  aliases: Type.Optional(Aliases),
  /** The first of them, by its name alone. */
  alias: Type.String(),
  /** Of the display name, after the mount: `ada`, `<namespace>-<account>`. */
  name: Type.String(),
  /** Below the mount: `login/ada`. */
  path: Type.String(),
  metadata: Type.Immutable(Type.Array(Type.Immutable(Type.Tuple([Type.String(), Type.String()])))),
  /** Of the identity alone: those of `parameters` and `default` are added here. */
  policies: Texts,
  parameters: TokenParameters,
  /** The name that `admitLogin` was asked for: its failures are forgotten. Absent: none. */
  lockName: Type.Optional(Type.String()),
  /** Kept sealed until the token ends, for `LoginMethod.renew`; null: nothing. */
  renewalSecret: Type.Union([Type.Null(), Type.String()]),
})
export type ProvedLogin = Omit<Readonly<Static<typeof Proved>>, 'alias' | 'aliases'> & {
  readonly aliases: readonly [Alias, ...Alias[]]
}

/** `auth` of a login's answer. */
const Answer = Type.Object({
  client_token: Type.String(),
  accessor: Type.String(),
  policies: Texts,
  token_policies: Texts,
  metadata: Type.Union([Type.Null(), Type.Record(Type.String(), Type.String())]),
  lease_duration: Type.Integer(),
  renewable: Type.Boolean(),
  entity_id: Type.String(),
  token_type: Type.Enum(['service', 'batch']),
  orphan: Type.Boolean(),
  num_uses: Type.Integer(),
})

const Issued = Type.Object({ auth: Answer, warnings: Texts })
export type IssuedLogin = Readonly<Static<typeof Issued>>

/** `auth` for the envelope, and warnings about its lifetime. Rejects with `permission_denied` when the mount has gone. */
export function issueLogin(
  context: LocalContext,
  mount: Pick<MountRow, 'id'>,
  login: ProvedLogin,
): Promise<IssuedLogin> {
  const aliases = login.aliases.map(bounded)
  const proved = { ...login, aliases, alias: aliases[0]?.name ?? '' }
  return context.service(askLeader)(context, issueAtLeader, { mountId: mount.id, login: proved })
}

/** A directory may have names longer than a key of the state. */
function bounded({ rule, name }: Alias): Alias {
  return { rule: fitting(rule, ruleLengthMax), name: fitting(name, aliasNameLengthMax) }
}

function fitting(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

export const issueAtLeader = definePeerMethod({
  kind: 'peer',
  at: 'leader',
  name: 'logins.issue',
  args: Type.Object({ mountId: MountId, login: Proved }),
  reply: Issued,
  run: async (context, { mountId, login }): Promise<IssuedLogin> => {
    const mount = mountOf(context.read(), mountId)
    if (mount === null) throw gone()
    const { lockName = '' } = login
    const counted = lockNameOf(lockName)
    if (counted !== null) {
      // Of many guesses at once, those that were under way when the name was locked are worth nothing.
      if (isLocked(context.read(), mountId, counted, context.clock.wallMs())) throw nameIsLocked()
      context.service(failedLogins).forget(mountId, counted)
    }
    const grant = grantOf(mount, login, await entityOf(context, mountId, login), context)
    if (grant.kind === 'batch') {
      const { row, secret, warnings } = await issueBatchLogin(context, grant)
      return { auth: authOf(row, secret), warnings }
    }
    return issueService(context, grant, login.renewalSecret)
  },
})

/** Under which the secret is kept that renews a token. */
export function renewalOwner(accessor: string): string {
  return `${accessor}/renewal`
}

async function issueService(
  context: LeaderContext,
  grant: LoginGrant,
  renewalSecret: string | null,
): Promise<IssuedLogin> {
  const { commandVersion } = context.read()
  const nowMs = Math.floor(context.clock.wallMs())
  const { token, secret, warnings } = drawLoginToken(grant, nowMs, commandVersion)
  // Drawn twice, as by a machine that was set back to an earlier moment: two callers would share a secret.
  if (isSecretTaken(context.read(), token.hash)) throw accessorIsTaken()
  const owner = renewalOwner(token.accessor)
  const sealed = renewalSecret === null ? null : await sealSecret(context, owner, renewalSecret)
  // The mount may have been disabled meanwhile: the entry decides.
  const { outcome } = await context.propose(createLogin, {
    token,
    ...(sealed !== null && { secret: sealed }),
  })
  if (outcome.type === 'mountIsGone') throw gone()
  return { auth: authOf(writtenToken(outcome), secret), warnings }
}

/** null: the cluster keeps none yet, or the server that proved the login does not. */
async function entityOf(
  context: LeaderContext,
  mountId: string,
  { aliases }: Static<typeof Proved>,
): Promise<string | null> {
  const reader = context.read()
  if (aliases === undefined || reader.commandVersion < entitiesVersion) return null
  const known = knownEntity(reader, mountId, aliases)
  if (known !== null) return known
  const nowMs = Math.floor(context.clock.wallMs())
  const identity = { mountId, aliases, id: randomUUID(), nowMs }
  const { outcome } = await context.propose(identifyLogin, identity)
  if (outcome === null) throw gone()
  return outcome.entityId
}

function grantOf(
  mount: MountRow,
  login: Static<typeof Proved>,
  entityId: string | null,
  { caller }: LeaderContext,
): LoginGrant {
  const { alias, name, path, metadata, policies, parameters } = login
  const added = parameters.noDefaultPolicy ? [] : ['default']
  return {
    kind: kindOf(mount, parameters),
    policies: [...policies, ...parameters.policies, ...added],
    displayName: `${mount.path.replaceAll('/', '-')}-${name}`,
    path: `auth/${mount.path}/${path}`,
    metadata,
    issuer: { mount: mount.path, mountId: mount.id, alias },
    entityId,
    parameters,
    lifetimes: mountTtls(mount),
    remote: caller.remote,
  }
}

/** A mount that says plainly what its tokens are is asked before the method's configuration. */
function kindOf({ tokenType }: MountRow, { type }: TokenParameters): 'service' | 'batch' {
  switch (tokenType) {
    case 'service':
    case 'batch':
      return tokenType
    case 'default-service':
      return type === 'batch' ? 'batch' : 'service'
    case 'default-batch':
      return type === 'service' ? 'service' : 'batch'
    default:
      return assertNever(tokenType)
  }
}

function authOf(row: TokenRow, secret: string): IssuedLogin['auth'] {
  const isBatch = row.kind === 'batch'
  return {
    client_token: secret,
    accessor: isBatch ? '' : row.accessor,
    policies: row.policies,
    token_policies: row.policies,
    metadata: row.metadata === undefined ? null : Object.fromEntries(row.metadata),
    lease_duration:
      row.expirationTimeMs === null ? 0 : secondsOf(row.expirationTimeMs - row.createTimeMs),
    renewable: !isBatch && row.lease?.renewable === true,
    entity_id: row.entityId ?? '',
    token_type: isBatch ? 'batch' : 'service',
    orphan: row.parent === undefined,
    num_uses: row.usesLeft ?? 0,
  }
}

function gone(): MusterError {
  return denied('the login method was disabled')
}
