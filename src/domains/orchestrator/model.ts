/** What a mount of the orchestrator method keeps: one configuration, and roles by name. */
import { Type, type Static } from 'typebox'
import { indexes, record } from '../../fsm/row-schema.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Alias } from '../entities/model.ts'
import {
  checkTokenParameters,
  noTokenParameters,
  TokenParameters,
} from '../acl/token-parameters-model.ts'
import { MountId } from '../logins/model.ts'
import { bindingLengthMax, bindingsMax, checkBindings } from './binding-model.ts'
import { hostLengthMax } from './host-model.ts'

/** The command version of the first programs that know this method. */
export const orchestratorVersion = 6

export const authoritiesLengthMax = 128 * 1024
export const pemKeysMax = 64
/** Of one key or certificate, with what stands around it. */
export const pemKeyLengthMax = 16 * 1024
/** Of all of them, for an entry of the log holds them. */
export const pemKeysLengthMax = 128 * 1024
export const issuerLengthMax = 1_024
export const audienceLengthMax = 1_024
export const roleNameLengthMax = 128

export const Config = record({
  /** As it was written; `host-model.ts` makes a URL of it. */
  host: Type.String({ maxLength: hostLengthMax }),
  /** '': the pod's, else the system's. */
  authorities: Type.String({ maxLength: authoritiesLengthMax }),
  pemKeys: Type.Immutable(
    Type.Array(Type.String({ maxLength: pemKeyLengthMax }), { maxItems: pemKeysMax }),
  ),
  disableLocalCaJwt: Type.Boolean(),
  disableIssValidation: Type.Boolean(),
  /** '': the default one. */
  issuer: Type.String({ maxLength: issuerLengthMax }),
})
export type Config = Readonly<Static<typeof Config>>

export const ConfigRow = record({
  mountId: MountId,
  config: Config,
  /** Whether a reviewer's token is kept, sealed, under `reviewerOwner`. */
  hasReviewer: Type.Boolean(),
  ...indexes,
})
export type ConfigRow = Readonly<Static<typeof ConfigRow>>

/** Under which the reviewer's token of a mount is kept. */
export function reviewerOwner(mountId: string): string {
  return `${mountId}/reviewer`
}

const Bindings = Type.Immutable(
  Type.Array(Type.String({ maxLength: bindingLengthMax }), { maxItems: bindingsMax }),
)

export const AliasNameSource = Type.Enum(['serviceaccount_uid', 'serviceaccount_name'])
export type AliasNameSource = Static<typeof AliasNameSource>

export const Role = record({
  names: Bindings,
  namespaces: Bindings,
  /** '': any. */
  audience: Type.String({ maxLength: audienceLengthMax }),
  aliasNameSource: AliasNameSource,
  tokens: TokenParameters,
})
export type Role = Readonly<Static<typeof Role>>

/** In lower case: part of a key. */
export const RoleName = Type.String({ minLength: 1, maxLength: roleNameLengthMax })

export const RoleRow = record({ mountId: MountId, name: RoleName, role: Role, ...indexes })
export type RoleRow = Readonly<Static<typeof RoleRow>>

const roleName = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/

/** As roles are found by: letter case does not count. Null: no role can have this name. */
export function roleKey(name: string): string | null {
  return name.length <= roleNameLengthMax && roleName.test(name) ? name.toLowerCase() : null
}

/** What a write gives; what it leaves out stays, or is as in a role that nothing was said about. */
export const RoleChange = Type.Object({
  names: Type.Optional(Role.properties.names),
  namespaces: Type.Optional(Role.properties.namespaces),
  audience: Type.Optional(Role.properties.audience),
  aliasNameSource: Type.Optional(AliasNameSource),
  tokens: Type.Partial(TokenParameters),
})
export type RoleChange = Readonly<Static<typeof RoleChange>>

const newRole: Role = {
  names: [],
  namespaces: [],
  audience: '',
  aliasNameSource: 'serviceaccount_uid',
  tokens: noTokenParameters,
}

/** `before` null: there was none. `mountMaxTtlMs`: of the mount. Throws `invalid_argument`. */
export function changedRole(
  before: Role | null,
  { tokens, ...change }: RoleChange,
  mountMaxTtlMs: number,
): Role {
  const base = before ?? newRole
  const role: Role = { ...base, ...change, tokens: { ...base.tokens, ...tokens } }
  checkBindings(role.names, 'bound_service_account_names')
  checkBindings(role.namespaces, 'bound_service_account_namespaces')
  checkTokenParameters(role.tokens, mountMaxTtlMs)
  return role
}

const noAudience =
  'the role has no audience: tokens that were issued for other services are taken as well; set audience'

export function roleWarnings({ audience }: Role): readonly string[] {
  return audience === '' ? [noAudience] : []
}

/** One service account, however often it logs in: by the source of the role first. */
export function aliasesOf(
  source: AliasNameSource,
  { namespace, name, uid }: Readonly<Record<'namespace' | 'name' | 'uid', string>>,
): readonly [Alias, Alias] {
  const byUid: Alias = { rule: 'serviceaccount_uid', name: uid }
  const byName: Alias = { rule: 'serviceaccount_name', name: `${namespace}/${name}` }
  return source === 'serviceaccount_name' ? [byName, byUid] : [byUid, byName]
}

export function notConfigured(): MusterError {
  return new MusterError('invalid_argument', 'the login method is not configured: write its config')
}
