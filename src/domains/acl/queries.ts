/** Reads of tokens, policies and roles. */
import type { Reader } from '../../fsm/domain.ts'
import { firstOf } from '../define.ts'
import {
  accessorLengthMax,
  endOf,
  type BootstrapRow,
  type PolicyRow,
  type RoleRow,
  type TokenRow,
} from './model.ts'
import { isGone } from './gone-queries.ts'
import { aclBootstraps, aclPolicies, aclRoles, aclTokenParents, aclTokens } from './table.ts'

/** Tokens that one entry removes. */
export const tokensPerEntryMax = 256
/** Entries of a whole list. */
export const listedMax = 100_000

/** Rows of tokens that are gone that `expiredTokens` looks at. */
const goneRowsMax = 4_096

export function tokenByHash(reader: Reader, hash: string): TokenRow | null {
  const row = reader.get(aclTokens, [hash])
  return row === undefined || isGone(reader, row) ? null : row
}

export async function tokenByAccessor(reader: Reader, accessor: string): Promise<TokenRow | null> {
  const row = await storedToken(reader, accessor)
  return row === null || isGone(reader, row) ? null : row
}

/** Also one that is gone. */
function storedToken(reader: Reader, accessor: string): Promise<TokenRow | null> {
  return firstOf(reader.pagesBy(aclTokens, 'accessor', { prefix: [accessor] }))
}

/** Whether there is no room for such a token, also because of one that is gone and still to be written. */
export async function isTaken(
  reader: Reader,
  { hash, accessor }: Pick<TokenRow, 'hash' | 'accessor'>,
): Promise<boolean> {
  if (isSecretTaken(reader, hash)) return true
  return (await storedToken(reader, accessor)) !== null
}

/** Whether a token has this secret, also one that is gone. A drawn accessor is as new as the secret it was drawn with. */
export function isSecretTaken(reader: Pick<Reader, 'get'>, hash: string): boolean {
  return reader.get(aclTokens, [hash]) !== undefined
}

/**
 * As `isTaken`, for a token that has a row of what it ends with: its accessor is looked for there, by key. An operator's token has no
 * such row; that it has the same accessor is as likely as to draw 122 random bits twice. To look through an index makes each entry of
 * the log wait for a turn of the event loop.
 */
export function isIssuedTaken(
  reader: Pick<Reader, 'get'>,
  { hash, accessor }: Pick<TokenRow, 'hash' | 'accessor'>,
): boolean {
  return isSecretTaken(reader, hash) || reader.get(aclTokenParents, [accessor]) !== undefined
}

/** In the order of their accessors, those before `from` left unread; null: all. */
export async function* allTokens(
  reader: Reader,
  from: string | null = null,
): AsyncGenerator<readonly TokenRow[]> {
  const range = from === null || from.length > accessorLengthMax ? {} : { from: [from] }
  for await (const page of reader.pagesBy(aclTokens, 'accessor', range)) {
    yield page.filter((row) => row.usesLeft !== 0 && !isGone(reader, row))
  }
}

/**
 * Those that are over, the longest ago first, at most `tokensPerEntryMax`. With very many that are gone and still to be written
 * the others are found later.
 */
export async function expiredTokens(reader: Reader, nowMs: number): Promise<readonly TokenRow[]> {
  const rows: TokenRow[] = []
  let goneRows = 0
  for await (const page of reader.pagesBy(aclTokens, 'expiration')) {
    for (const row of page) {
      if (endOf(row) > nowMs || rows.length >= tokensPerEntryMax) return rows
      if (!isGone(reader, row)) rows.push(row)
      else if (++goneRows >= goneRowsMax) return rows
    }
  }
  return rows
}

export function policyOf(reader: Reader, name: string): PolicyRow | null {
  return reader.get(aclPolicies, [name]) ?? null
}

export function allPolicies(reader: Reader, prefix: string): AsyncIterable<readonly PolicyRow[]> {
  return reader.pages(aclPolicies, { startsWith: prefix })
}

export function roleOf(reader: Reader, name: string): RoleRow | null {
  return reader.get(aclRoles, [name]) ?? null
}

export function allRoles(reader: Reader, prefix: string): AsyncIterable<readonly RoleRow[]> {
  return reader.pages(aclRoles, { startsWith: prefix })
}

export function bootstrapOf(reader: Reader): BootstrapRow | null {
  return reader.get(aclBootstraps, ['bootstrap']) ?? null
}

const tables = { tokens: aclTokens, policies: aclPolicies, roles: aclRoles } as const

/** Of the tokens, policies or roles: when any of them changed. */
export function aclIndex(reader: Reader, what: keyof typeof tables): number {
  return reader.tableIndex(tables[what])
}
