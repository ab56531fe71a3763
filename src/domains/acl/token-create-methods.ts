/** Makes tokens for callers that have one: `/v1/auth/token/create` and its kin, at the leader. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod, type LeaderContext } from '../../rpc/method.ts'
import { unknownToken } from '../../rpc/refusal.ts'
import { entityOfToken } from '../entities/issue.ts'
import { aliasNameLengthMax } from '../entities/model.ts'
import { checkMeta, checkMetaSize, Meta } from '../namespaces/model.ts'
import { isBatchSecret, noBatch } from './batch-tokens.ts'
import { drawToken, writtenToken } from './issue.ts'
import { createIssuedToken } from './issued-commands.ts'
import { shownAuth } from './issued-shown.ts'
import { AclName, LifetimeMs, type TokenRow } from './model.ts'
import { roleOf, tokenByAccessor } from './queries.ts'
import { assertAclEnabled, batchTokens } from './services.ts'
import { aclTokenRoles } from './table.ts'
import { tokenOfWish, type Maker, type TokenWish } from './token-create-model.ts'
import { checkIssuable, checkIssuedPolicies } from './token-parameters-model.ts'
import type { TokenRoleRow } from './token-role-model.ts'

/** As it is sent; the name of the token is cut to fewer bytes. */
export const displayNameLengthMax = 1_024
const typeLengthMax = 32

const Wish = Type.Object({
  policies: Type.Immutable(Type.Array(Type.String())),
  ttlMs: LifetimeMs,
  explicitMaxTtlMs: LifetimeMs,
  periodMs: LifetimeMs,
  numUses: Type.Integer({ minimum: 0 }),
  renewable: Type.Boolean(),
  metadata: Meta,
  displayName: Type.String({ maxLength: displayNameLengthMax }),
  type: Type.String({ maxLength: typeLengthMax }),
  noParent: Type.Boolean(),
  noDefaultPolicy: Type.Boolean(),
  /** Absent: of a server that knows no entities. */
  entityAlias: Type.Optional(Type.String({ maxLength: aliasNameLengthMax })),
})

const create = defineLeaderMethod({
  kind: 'leader',
  name: 'acl.createTokenByToken',
  args: Type.Object({
    wish: Wish,
    /** null: without a role. */
    role: Type.Union([Type.Null(), AclName]),
    orphan: Type.Boolean(),
  }),
  requires: (where) => ({ resource: 'auth', path: pathOf(where), access: 'write' }),
  run: async (context, { wish, role, orphan }) => {
    assertAclEnabled(context)
    checkIssuedPolicies('policies', wish.policies)
    const maker = await makerOf(context, pathOf({ role, orphan }))
    const nowMs = Math.floor(context.clock.wallMs())
    const checked = { ...wish, metadata: checkMeta(wish.metadata) }
    const made = tokenOfWish(checked, maker, ruleOf(context, role), orphan, nowMs)
    const { warnings } = made
    checkIssuable(made.spec.policies, context.read().commandVersion)
    const { entityAlias = '' } = wish
    const entity = entityAlias === '' ? {} : { entityId: await entityOfToken(context, entityAlias) }
    const spec = { ...made.spec, ...entity }
    if (spec.kind === 'batch') {
      const parent = spec.parent === undefined ? null : maker.row
      const issued = await context.service(batchTokens).issue(context, spec, parent)
      return { auth: shownAuth(issued.row, issued.secret, nowMs), warnings }
    }
    const { token, secret } = drawToken(spec, null)
    const { outcome } = await context.propose(createIssuedToken, token)
    return { auth: shownAuth(writtenToken(outcome), secret, nowMs), warnings }
  },
})

export const tokenCreateMethods = { create }

/** As the client sent them; the refusal names the field. Throws `invalid_argument`. */
export function checkTokenMeta(pairs: TokenWish['metadata']): TokenWish['metadata'] {
  checkMetaSize('meta', pairs)
  return pairs
}

type Where = { readonly role: string | null; readonly orphan: boolean }

function pathOf({ role, orphan }: Where): string {
  if (role !== null) return `token/create/${role}`
  return orphan ? 'token/create-orphan' : 'token/create'
}

async function makerOf(context: LeaderContext, path: string): Promise<Maker> {
  const { accessor, caller } = context
  const reader = context.read()
  if (isBatchSecret(caller.token)) throw noBatch('cannot create more tokens')
  const row = accessor === null ? null : await tokenByAccessor(reader, accessor)
  if (row === null) throw unknownToken()
  const isSudo =
    context.may({ resource: 'acl', access: 'write' }) ||
    context.may({ resource: 'auth', path, access: 'sudo' })
  return { row, policies: allPoliciesOf(context, row), isSudo }
}

function allPoliciesOf(context: LeaderContext, row: TokenRow): readonly string[] {
  const reader = context.read()
  return [...row.policies, ...row.roles.flatMap((name) => roleOf(reader, name)?.policies ?? [])]
}

function ruleOf(context: LeaderContext, name: string | null): TokenRoleRow | null {
  if (name === null) return null
  const role = context.read().get(aclTokenRoles, [name])
  if (role !== undefined) return role
  throw new MusterError('invalid_argument', `unknown role ${JSON.stringify(name)}`)
}
