/** Tokens as the token endpoints show them: looked up, and as the answer to their making or renewal. */
import { dateText } from '../../lib/date-text.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { rootPolicy } from './built-in-policy-model.ts'
import { secondsOf } from './lifetime-model.ts'
import { endOf, type TokenRow } from './model.ts'

/** What a token is shown to have; a token of an operator may have more through its roles. */
export function policiesShown({ type, policies }: Pick<TokenRow, 'type' | 'policies'>) {
  return type === 'management' ? [rootPolicy] : policies
}

/** 0: no end. */
export function secondsLeft(row: TokenRow, nowMs: number): number {
  const endMs = endOf(row)
  return endMs === Infinity ? 0 : secondsOf(endMs - nowMs)
}

/** `id`: the secret; empty where the caller did not send it. */
function shownLookup(row: TokenRow, id: string, nowMs: number) {
  const { lease, boundCidrs, metadata, kind = 'service' } = row
  const endMs = endOf(row)
  const ended = endMs === Infinity ? null : timeText(endMs)
  const firstEndMs = row.expirationTimeMs
  const creationTtlMs =
    lease?.ttlMs ?? (firstEndMs === null ? 0 : Math.max(0, firstEndMs - row.createTimeMs))
  return {
    id,
    accessor: row.accessor,
    policies: policiesShown(row),
    path: row.path ?? operatorPath,
    meta: metadata === undefined ? null : Object.fromEntries(metadata),
    display_name: row.name,
    num_uses: row.usesLeft ?? 0,
    orphan: row.parent === undefined,
    creation_time: wholeSeconds(row.createTimeMs),
    creation_ttl: wholeSeconds(creationTtlMs),
    expire_time: ended,
    issue_time: timeText(row.createTimeMs),
    ttl: secondsLeft(row, nowMs),
    explicit_max_ttl: wholeSeconds(lease?.explicitMaxTtlMs ?? 0),
    entity_id: row.entityId ?? '',
    type: kind,
    renewable: lease?.renewable ?? false,
    ...(row.tokenRole !== undefined && { role: row.tokenRole }),
    ...(lease?.periodMs !== undefined &&
      lease.periodMs !== null && { period: wholeSeconds(lease.periodMs) }),
    ...(boundCidrs !== undefined && { bound_cidrs: boundCidrs }),
    ...(lease?.renewTimeMs !== undefined &&
      lease.renewTimeMs !== null && { last_renewal_time: wholeSeconds(lease.renewTimeMs) }),
  }
}

type KeptLookup = {
  readonly row: TokenRow
  readonly id: string
  readonly ttl: number
  readonly text: string
  /** Of the text in UTF-8. */
  readonly bytes: number
}

/** Of the tokens that look themselves up again and again. By the hash of the token. */
const lookups = new LruMap<string, KeptLookup>(1_024)

/**
 * What `shownLookup` gives, as JSON. A row is one object to all who read it until it changes, and what is shown of it changes each
 * second.
 */
export function lookupText(row: TokenRow, id: string, nowMs: number): KeptLookup {
  const ttl = secondsLeft(row, nowMs)
  const known = lookups.get(row.hash)
  if (known !== undefined && known.row === row && known.id === id && known.ttl === ttl) return known
  const text = JSON.stringify(shownLookup(row, id, nowMs))
  const made = { row, id, ttl, text, bytes: Buffer.byteLength(text) }
  lookups.set(row.hash, made)
  return made
}

/** Of tokens that an operator made by `/v1/acl`. */
const operatorPath = 'acl/token'

export function shownAuth(row: TokenRow, secret: string, nowMs: number) {
  const { metadata, lease, kind = 'service' } = row
  const policies = policiesShown(row)
  return {
    client_token: secret,
    accessor: row.accessor,
    policies,
    token_policies: policies,
    metadata: metadata === undefined ? null : Object.fromEntries(metadata),
    lease_duration: secondsLeft(row, nowMs),
    renewable: lease?.renewable ?? false,
    entity_id: row.entityId ?? '',
    token_type: kind,
    orphan: row.parent === undefined,
    num_uses: row.usesLeft ?? 0,
  }
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000)
}

/** Of the tokens that look themselves up again and again: a tenth of what a look-up adds to a request. */
const timeTexts = new LruMap<number, string>(4_096)

function timeText(ms: number): string {
  const known = timeTexts.get(ms)
  if (known !== undefined) return known
  const text = dateText(ms)
  timeTexts.set(ms, text)
  return text
}
