/**
 * The directory login method: its configuration, and which policies local users and groups have. All rows are keyed by the
 * mount's id, so that a mount that is enabled anew begins with nothing.
 */
import { Type, type Static } from 'typebox'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'
import { PolicyNames } from '../acl/model.ts'
import { noTokenParameters, TokenParameters } from '../acl/token-parameters-model.ts'
import { MountId } from '../logins/model.ts'
import { tlsVersions } from './tls-model.ts'

/** The command version of the first programs that know this domain. */
export const ldapVersion = 6

export const dereferenceWords = ['never', 'finding', 'searching', 'always'] as const

export const urlLengthMax = 4_096
export const textLengthMax = 4_096
export const filterTemplateLengthMax = 16_384
export const pemLengthMax = 131_072
/** Longer timeouts than a day mean none. */
export const timeoutMsMax = 86_400_000
export const pageSizeMax = 100_000
/** What is not above 0 stands for no pages, and is shown as it was written. */
export const pageSizeMin = -2_147_483_648
/** Command version from which the size of pages may be below 0. */
export const anyPageSizeVersion = 22
export const rotationMsMax = 10 * 365 * 86_400_000
export const scheduleTextMax = 256
/** Of a user, a group, and the name that a person logs in with. */
export const nameLengthMax = 512
/** A name's normalised form may be longer than the name. */
export const nameKeyLengthMax = 3 * nameLengthMax
/** Local groups of one user. */
export const groupsPerUserMax = 256

const Text = Type.String({ maxLength: textLengthMax })
const FilterTemplate = Type.String({ maxLength: filterTemplateLengthMax })
const Pem = Type.String({ maxLength: pemLengthMax })
const TimeoutMs = Type.Integer({ minimum: 0, maximum: timeoutMsMax })
const RotationMs = Type.Integer({ minimum: 0, maximum: rotationMsMax })
const Tls = Type.Enum([...tlsVersions])

/** But for the two secrets, which are sealed elsewhere. */
export const DirectoryConfig = record({
  url: Type.String({ maxLength: urlLengthMax }),
  caseSensitiveNames: Type.Boolean(),
  connectionTimeoutMs: TimeoutMs,
  requestTimeoutMs: TimeoutMs,
  starttls: Type.Boolean(),
  tlsMinVersion: Tls,
  tlsMaxVersion: Tls,
  insecureTls: Type.Boolean(),
  certificate: Pem,
  clientTlsCert: Pem,
  binddn: Text,
  userdn: Text,
  userattr: Text,
  discoverdn: Type.Boolean(),
  denyNullBind: Type.Boolean(),
  upndomain: Text,
  userfilter: FilterTemplate,
  anonymousGroupSearch: Type.Boolean(),
  groupfilter: FilterTemplate,
  groupdn: Text,
  groupattr: Text,
  usernameAsAlias: Type.Boolean(),
  dereferenceAliases: Type.Enum([...dereferenceWords]),
  maxPageSize: Type.Integer({ minimum: pageSizeMin, maximum: pageSizeMax }),
  useTokenGroups: Type.Boolean(),
  enableSamaccountnameLogin: Type.Boolean(),
  rotationPeriodMs: RotationMs,
  rotationSchedule: Type.String({ maxLength: scheduleTextMax }),
  rotationWindowMs: RotationMs,
  disableAutomatedRotation: Type.Boolean(),
  tokens: TokenParameters,
})
export type DirectoryConfig = Readonly<Static<typeof DirectoryConfig>>

export const defaultConfig: DirectoryConfig = {
  url: 'ldap://127.0.0.1',
  caseSensitiveNames: false,
  connectionTimeoutMs: 30_000,
  requestTimeoutMs: 90_000,
  starttls: false,
  tlsMinVersion: 'tls12',
  tlsMaxVersion: 'tls12',
  insecureTls: false,
  certificate: '',
  clientTlsCert: '',
  binddn: '',
  userdn: '',
  userattr: 'cn',
  discoverdn: false,
  denyNullBind: true,
  upndomain: '',
  userfilter: '',
  anonymousGroupSearch: false,
  groupfilter: '',
  groupdn: '',
  groupattr: '',
  usernameAsAlias: false,
  dereferenceAliases: 'never',
  maxPageSize: 0,
  useTokenGroups: true,
  enableSamaccountnameLogin: false,
  rotationPeriodMs: 0,
  rotationSchedule: '',
  rotationWindowMs: 0,
  disableAutomatedRotation: false,
  tokens: noTokenParameters,
}

export const ConfigRow = record({
  mountId: MountId,
  config: DirectoryConfig,
  hasBindpass: Type.Boolean(),
  hasClientKey: Type.Boolean(),
  /**
   * The entry since which a second password of the service account is kept: the directory was or will be asked to take it, and
   * either may be right. null: there is one password.
   */
  pendingRotation: Type.Union([Type.Null(), Count]),
  /** When the password was replaced last, or since when it is to be. */
  rotatedMs: TimeMs,
  ...indexes,
})
export type ConfigRow = Readonly<Static<typeof ConfigRow>>

export const Name = Type.String({ minLength: 1, maxLength: nameLengthMax })
/** Part of a row's key. */
export const NameKey = Type.String({ minLength: 1, maxLength: nameKeyLengthMax })

/** How a user or a group is called, and what finds it. */
export const GroupRow = record({
  mountId: MountId,
  key: NameKey,
  name: Name,
  policies: PolicyNames,
  ...indexes,
})
export type GroupRow = Readonly<Static<typeof GroupRow>>

export const UserRow = record({
  mountId: MountId,
  key: NameKey,
  name: Name,
  policies: PolicyNames,
  groups: Type.Immutable(Type.Array(Name, { maxItems: groupsPerUserMax })),
  ...indexes,
})
export type UserRow = Readonly<Static<typeof UserRow>>

/** Names of the secrets of a mount, as `logins` keeps them. */
export function bindpassOwner(mountId: string): string {
  return `${mountId}/bindpass`
}

/** Of the password that a rotation brings. */
export function nextBindpassOwner(mountId: string): string {
  return `${mountId}/next_bindpass`
}

export function clientKeyOwner(mountId: string): string {
  return `${mountId}/client_tls_key`
}
