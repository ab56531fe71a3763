/**
 * Mounts: where a login method is served below `/v1/auth`, under which id its rows are kept, and what holds for all tokens
 * that it issues. A mount is enabled and disabled; one that is enabled anew at the same path has another id and shares nothing.
 */
import { Type, type Static } from 'typebox'
import { indexes, record } from '../../fsm/row-schema.ts'
import { MusterError } from '../../lib/errors.ts'
import { systemTtlMs, type MountLifetimes } from '../acl/lifetime-model.ts'
import { ttlMsMax } from '../acl/model.ts'
import { withoutOuterSlashes } from '../../lib/slashes.ts'

/** The command version of the first programs that know mounts. */
export const mountsVersion = 6

export const mountIdLengthMax = 64
export const mountPathLengthMax = 128
export const mountDescriptionBytesMax = 512
/** People make mounts, not programs; a command that changes one reads them all. */
export const mountsMax = 256

export const mountTypes = ['ldap', 'orchestrator'] as const
export const MountType = Type.Enum([...mountTypes])
export type MountType = (typeof mountTypes)[number]

/** Another word for a type, as clients of Vault name it. */
const typeAliases: Readonly<Record<string, MountType>> = {
  __proto__: null as never,
  kubernetes: 'orchestrator',
}

/** As the mount was enabled: its accessor begins with that word, and it is shown by it. */
export function shownMountType({ type, accessor }: Pick<MountRow, 'type' | 'accessor'>): string {
  const word = /^auth_([a-z]+)_/.exec(accessor)?.[1] ?? type
  return typeAliases[word] === type ? word : type
}

/** service, batch: whatever a method's configuration says. default-…: where the configuration says `default`. */
export const MountTokenType = Type.Enum(['default-service', 'default-batch', 'service', 'batch'])
export type MountTokenType = Static<typeof MountTokenType>

/** Part of keys: what is longer must never reach an entry. */
export const MountId = Type.String({ minLength: 1, maxLength: mountIdLengthMax })
export const MountPath = Type.String({ minLength: 1, maxLength: mountPathLengthMax })

const TtlMs = Type.Integer({ minimum: 0, maximum: ttlMsMax })

export const lockoutThresholdMax = 10_000

/** When a name that fails to log in too often is locked. 0 and false are not the defaults: see `lockoutOf`. */
export const Lockout = record({
  threshold: Type.Integer({ minimum: 1, maximum: lockoutThresholdMax }),
  durationMs: TtlMs,
  /** Failures that lie further back do not count. */
  counterResetMs: TtlMs,
  disabled: Type.Boolean(),
})
export type Lockout = Readonly<Static<typeof Lockout>>

export const lockoutDefault: Lockout = {
  threshold: 5,
  durationMs: 15 * 60_000,
  counterResetMs: 15 * 60_000,
  disabled: false,
}

export const MountSettings = record({
  description: Type.String({ maxLength: mountDescriptionBytesMax }),
  /** 0: the system's. */
  defaultLeaseTtlMs: TtlMs,
  /** 0: the system's. */
  maxLeaseTtlMs: TtlMs,
  tokenType: MountTokenType,
  lockout: Lockout,
})
export type MountSettings = Readonly<Static<typeof MountSettings>>

export const MountRow = record({
  /** Without slashes in front or at the end: `team/ldap`. */
  path: MountPath,
  /** Chosen by the proposer. Rows of the method are keyed by it. */
  id: MountId,
  type: MountType,
  /** A name of the mount that is no secret and does not change with its path. */
  accessor: Type.String({ maxLength: mountIdLengthMax }),
  ...MountSettings.properties,
  /** Only of a mount that is there from the start: it was disabled, and its row says so. */
  disabled: Type.Optional(Type.Boolean()),
  ...indexes,
})
export type MountRow = Readonly<Static<typeof MountRow>>

export const mountSettingsDefault: MountSettings = {
  description: '',
  defaultLeaseTtlMs: 0,
  maxLeaseTtlMs: 0,
  tokenType: 'default-service',
  lockout: lockoutDefault,
}

/** There without any write, as if an entry 0 had made them. A row appears when one is tuned or disabled. */
export const firstMounts: readonly MountRow[] = mountTypes.map((type) => ({
  path: type,
  id: `first-${type}`,
  type,
  accessor: `auth_${type}_00000000`,
  ...mountSettingsDefault,
  createIndex: 0,
  modifyIndex: 0,
}))

/** Where the endpoints of tokens are: shown as a mount, but never a login method's. */
export const tokenPath = 'token'
/** First segments of `/v1/auth` that are no mount's. */
const reservedFirst: ReadonlySet<string> = new Set([tokenPath])
/** Last segments that `/v1/sys/auth/<path>` is followed by. */
const reservedLast: ReadonlySet<string> = new Set(['tune', 'explain'])

const pathPattern = /^[a-zA-Z0-9_.~-]+(?:\/[a-zA-Z0-9_.~-]+)*$/

/** As it is stored. Throws `invalid_argument`. */
export function checkMountPath(given: string): string {
  const path = withoutOuterSlashes(given)
  if (path.length > mountPathLengthMax || !pathPattern.test(path) || hasDots(path)) {
    throw new MusterError(
      'invalid_argument',
      `the path of a mount has 1 to ${mountPathLengthMax} letters, digits and characters - _ . ~, in segments with / between them`,
    )
  }
  const segments = path.split('/')
  const first = segments[0] ?? ''
  if (reservedFirst.has(first)) {
    throw new MusterError('invalid_argument', `path is already in use at ${first}/`)
  }
  if (reservedLast.has(segments.at(-1) ?? '')) {
    throw new MusterError(
      'invalid_argument',
      `the path of a mount does not end in ${[...reservedLast].join(' or ')}`,
    )
  }
  return path
}

function hasDots(path: string): boolean {
  return path.split('/').some((segment) => segment === '.' || segment === '..')
}

/** Throws `invalid_argument` for a word that is no type's. */
export function checkMountType(word: string): MountType {
  const type = mountTypes.find((known) => known === word) ?? typeAliases[word]
  if (type !== undefined) return type
  throw new MusterError(
    'invalid_argument',
    word === ''
      ? `type is missing: give one of ${mountTypes.join(', ')}`
      : `there is no login method of this type: give one of ${mountTypes.join(', ')}`,
  )
}

/** The lifetimes that hold for its tokens: the system's where it says nothing, and no default above the maximum. */
export function mountTtls({
  defaultLeaseTtlMs,
  maxLeaseTtlMs,
}: Pick<MountRow, 'defaultLeaseTtlMs' | 'maxLeaseTtlMs'>): MountLifetimes {
  const maxTtlMs = maxLeaseTtlMs === 0 ? systemTtlMs : maxLeaseTtlMs
  const wanted = defaultLeaseTtlMs === 0 ? systemTtlMs : defaultLeaseTtlMs
  return { defaultTtlMs: Math.min(wanted, maxTtlMs), maxTtlMs }
}

/** Whether one of two paths lies below the other, or both are one. */
export function pathsOverlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`)
}
