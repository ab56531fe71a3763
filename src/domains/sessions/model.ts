/**
 * Sessions: names for "whoever this is, is alive", bound to a node, to checks on it and to a time to live. Locks are
 * held by sessions, so all that ends a session frees its locks in the same log entry.
 *
 * This file: the record, its limits, and what a request's words mean. Lengths of time are kept in nanoseconds as
 * decimal text where a client may choose them freely, for a double does not hold them all.
 */
import { Type, type Static } from 'typebox'
import { Count, record } from '../../fsm/row-schema.ts'
import { durationLengthMax, parseDurationNs } from '../../lib/duration.ts'
import { invalid } from '../../lib/errors.ts'
import { isUuid } from '../../lib/uuid.ts'
import { Accessor, MountId } from '../acl/model.ts'
import { Name } from '../catalog/model.ts'
import { TimeMs } from '../define.ts'
import { defaultNamespace, NamespaceName } from '../namespaces/model.ts'

export { allNamespaces, defaultNamespace } from '../namespaces/model.ts'

export const ttlNsMin = 10_000_000_000n
export const ttlNsMax = 86_400_000_000_000n
export const lockDelayNsDefault = 15_000_000_000n
/** However long a session asks for, its locks are held back no longer. */
export const lockDelayEffectMsMax = 60_000
/** A lock delay below this many nanoseconds is meant as seconds. */
const lockDelaySecondsBelow = 1_000n
const lockDelayNsMax = 2n ** 63n - 1n

/** By how much a server under load may lengthen what it was asked for. */
export const stretchMax = 8

export const sessionNameLengthMax = 512
/** Checks that one session may be bound to. */
export const boundChecksMax = 64
export const checkIdLengthMax = 256

/** The check that follows from membership, and the name it has in Consul's clients. */
export const membershipCheck = 'gossipHealth'
export const membershipCheckAlias = 'serfHealth'

/** Of a UUID as text. */
export const sessionIdLength = 36

/** release: held keys stay and lose their holder. delete: they go. */
export const behaviors = ['release', 'delete'] as const
export type Behavior = (typeof behaviors)[number]

const CheckId = Type.String({ maxLength: checkIdLengthMax })
/** In lower case, where one letter may be two. */
const CheckKey = Type.String({ maxLength: 2 * checkIdLengthMax })
const CheckIds = Type.Immutable(Type.Array(CheckId, { maxItems: boundChecksMax }))
const ServiceCheck = record({ id: CheckId, namespace: NamespaceName })
export type ServiceCheck = Readonly<Static<typeof ServiceCheck>>

/** What a client says of a session, checked. */
export const SessionSpec = Type.Object({
  name: Type.String({ maxLength: sessionNameLengthMax }),
  node: Name,
  /** 63 bits, as decimal text. */
  lockDelayNs: Type.String({ pattern: '^[0-9]{1,20}$', maxLength: 20 }),
  behavior: Type.Union([Type.Literal('release'), Type.Literal('delete')]),
  /** As it was written, for readers; '' and zero mean none. */
  ttl: Type.String({ maxLength: durationLengthMax }),
  nodeChecks: CheckIds,
  serviceChecks: Type.Union([
    Type.Null(),
    Type.Immutable(Type.Array(ServiceCheck, { maxItems: boundChecksMax })),
  ]),
  /** The deprecated field, where it says more than `nodeChecks`. */
  checks: Type.Union([Type.Null(), CheckIds]),
})
export type SessionSpec = Readonly<Static<typeof SessionSpec>>

export const SessionPlace = Type.Object({
  namespace: NamespaceName,
  /** A UUID in lower case. */
  id: Type.String({ maxLength: sessionIdLength }),
})
export type SessionPlace = Readonly<Static<typeof SessionPlace>>

/** Accessor of the token that made a session; null without one. */
export const SessionToken = Type.Union([Type.Null(), Accessor])

/** Wall-clock ms: when the token is over that made the session and is stored nowhere. Absent: `token` is that token, or there is none. */
export const TokenEndMs = Type.Optional(TimeMs)

/** The command version from which on all servers end sessions at that time. */
export const tokenEndVersion = 7

/** Of the login method that such a token is of. Absent: of none, or of a server that knew no bond to it. */
export const TokenMountId = Type.Optional(MountId)

/** The command version from which on all servers end sessions with the login method of such a token. */
export const tokenMountVersion = 8

/**
 * It has two of its times to live from each renewal, as clients of Consul reckon with: Patroni halves what it is given and its primary writes
 * for longer than that half. Absent: one.
 */
export const Doubled = Type.Optional(Type.Literal(true))

/** The command version from which on all servers give a session two of them. */
export const doubledVersion = 18

/** Never changes from its creation to its end: a renewal is no change of the record. */
export const SessionRow = record({
  ...SessionPlace.properties,
  ...SessionSpec.properties,
  /** Ids of checks in lower case, without doubles: when one of them is lost, so is the session. */
  boundChecks: Type.Immutable(Type.Array(CheckKey, { maxItems: 3 * boundChecksMax })),
  token: SessionToken,
  tokenEndMs: TokenEndMs,
  tokenMountId: TokenMountId,
  doubled: Doubled,
  createIndex: Count,
})
export type SessionRow = Readonly<Static<typeof SessionRow>>

/** The id as it is stored; undefined when the text is no UUID. */
export function parseSessionId(text: string): string | undefined {
  return isUuid(text) ? text.toLowerCase() : undefined
}

/** Throws `invalid_argument`. */
export function checkSessionId(text: string): string {
  const id = parseSessionId(text)
  if (id === undefined) throw invalid(`a session id is a UUID, not ${shown(text)}`)
  return id
}

/** Of a time to live as it is stored; null without one. */
export function ttlMsOf(ttl: string): number | null {
  const nanoseconds = ttl === '' ? 0n : (parseDurationNs(ttl) ?? 0n)
  return nanoseconds === 0n ? null : Number(nanoseconds) / 1e6
}

/** From a renewal to the end of what is not renewed again; null for a session without a time to live. */
export function lifeMsOf({ ttl, doubled }: SessionRow, stretch: number): number | null {
  const ttlMs = ttlMsOf(ttl)
  return ttlMs === null ? null : stretchedMs(ttlMs, stretch) * (doubled === true ? 2 : 1)
}

/** What a time to live becomes under load; never longer than any may be. */
export function stretchedMs(ttlMs: number, stretch: number): number {
  return stretch === 1 ? ttlMs : Math.min(ttlMs * stretch, Number(ttlNsMax) / 1e6)
}

/** Throws `invalid_argument`. */
export function checkTtl(ttl: string): string {
  if (ttl === '') return ttl
  // `-0s` is no negative number, and still no time to live.
  const nanoseconds = /^[-+]/.test(ttl) ? undefined : parseDurationNs(ttl)
  if (nanoseconds === undefined) {
    throw invalid(`TTL must be a duration such as 15s or 1m30s, not ${shown(ttl)}`)
  }
  if (nanoseconds !== 0n && (nanoseconds < ttlNsMin || nanoseconds > ttlNsMax)) {
    throw invalid(`TTL must be 0 or between 10s and 86400s, not ${shown(ttl)}`)
  }
  return ttl
}

/** Nanoseconds of a request's LockDelay: a duration, or a number of nanoseconds. Throws `invalid_argument`. */
export function checkLockDelay(value: unknown): string {
  if (value === undefined) return lockDelayNsDefault.toString()
  const nanoseconds =
    typeof value === 'string'
      ? parseDurationNs(value)
      : typeof value === 'number' && Number.isInteger(value)
        ? BigInt(value)
        : undefined
  if (nanoseconds === undefined) {
    throw invalid('LockDelay must be a duration such as 15s, or a whole number of nanoseconds')
  }
  if (nanoseconds <= 0n) throw invalid('LockDelay must be greater than 0')
  const meant = nanoseconds < lockDelaySecondsBelow ? nanoseconds * 1_000_000_000n : nanoseconds
  if (meant > lockDelayNsMax) throw invalid('LockDelay must be below 293 years')
  return meant.toString()
}

/** For how long a key that the session held is held back after the session's end. */
export function lockDelayMsOf(session: Pick<SessionSpec, 'lockDelayNs'>): number {
  return Math.min(Math.ceil(Number(session.lockDelayNs) / 1e6), lockDelayEffectMsMax)
}

/** Throws `invalid_argument`. */
export function checkBehavior(behavior: string): Behavior {
  if (behavior === '') return 'release'
  const known = behaviors.find((candidate) => candidate === behavior)
  if (known === undefined)
    throw invalid(`Behavior must be release or delete, not ${shown(behavior)}`)
  return known
}

/** What the three lists of a request bind a session to, and how they are shown. Null: not given. */
export function chooseChecks(given: {
  /** Of the session. */
  readonly namespace: string
  readonly nodeChecks: readonly string[] | null
  readonly serviceChecks: readonly ServiceCheck[] | null
  readonly checks: readonly string[] | null
}): Pick<SessionSpec, 'nodeChecks' | 'serviceChecks' | 'checks'> {
  const { serviceChecks, checks } = given
  const byDefault = checks?.length === 0 ? [] : [membershipCheck]
  const nodeChecks = given.nodeChecks ?? byDefault
  const ids = [...nodeChecks, ...(checks ?? []), ...(serviceChecks ?? []).map(({ id }) => id)]
  if (ids.length > boundChecksMax) {
    throw invalid(`a session is bound to at most ${boundChecksMax} checks, not ${ids.length}`)
  }
  for (const id of ids) {
    if (id === '' || id.length > checkIdLengthMax) {
      throw invalid(`the id of a check has 1 to ${checkIdLengthMax} characters`)
    }
  }
  for (const { namespace } of serviceChecks ?? []) {
    // Checks are in `default` alone, and a session of any namespace is bound to those.
    if (['', given.namespace, defaultNamespace].includes(namespace)) continue
    throw invalid(
      `Namespace of ServiceChecks must be that of the session or ${defaultNamespace}, not ${shown(namespace)}`,
    )
  }
  const saysMore = checks?.some((id) => !isMembershipCheck(id)) === true
  return {
    nodeChecks: nodeChecks.map((id) => id.toWellFormed()),
    serviceChecks:
      serviceChecks?.map(({ id, namespace }) => ({
        id: id.toWellFormed(),
        namespace: namespace.toWellFormed(),
      })) ?? null,
    checks: saysMore ? checks.map((id) => id.toWellFormed()) : null,
  }
}

/** Every id that a session names, as written. */
export function namedChecks(
  spec: Pick<SessionSpec, 'nodeChecks' | 'serviceChecks' | 'checks'>,
): readonly string[] {
  const { nodeChecks, serviceChecks, checks } = spec
  return [...nodeChecks, ...(checks ?? []), ...(serviceChecks ?? []).map(({ id }) => id)]
}

export function isMembershipCheck(id: string): boolean {
  const lower = id.toLowerCase()
  return lower === membershipCheck.toLowerCase() || lower === membershipCheckAlias.toLowerCase()
}

/** Throws `invalid_argument`. */
export function checkSessionName(name: string): string {
  if (name.length > sessionNameLengthMax) {
    throw invalid(`Name may have at most ${sessionNameLengthMax} characters`)
  }
  return name.toWellFormed()
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}
