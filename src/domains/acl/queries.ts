/** Reads of tokens, policies and roles. */
import type { Reader } from '../../fsm/domain.ts'
import { firstOf } from '../define.ts'
import { endOf, type BootstrapRow, type PolicyRow, type RoleRow, type TokenRow } from './model.ts'
import { aclBootstraps, aclPolicies, aclRoles, aclTokens } from './table.ts'

/** Tokens that one entry removes. */
export const tokensPerEntryMax = 256

export function tokenByHash(reader: Reader, hash: string): TokenRow | null {
  return reader.get(aclTokens, [hash]) ?? null
}

export function tokenByAccessor(reader: Reader, accessor: string): Promise<TokenRow | null> {
  return firstOf(reader.pagesBy(aclTokens, 'accessor', { prefix: [accessor] }))
}

/** In the order of their accessors. */
export function allTokens(reader: Reader): AsyncIterable<readonly TokenRow[]> {
  return reader.pagesBy(aclTokens, 'accessor')
}

/**
 * Those that are over, the longest ago first, at most `tokensPerEntryMax`. With very many that are gone and still to be written
 * the others are found later.
 */
export async function expiredTokens(reader: Reader, nowMs: number): Promise<readonly TokenRow[]> {
  const rows: TokenRow[] = []
  for await (const page of reader.pagesBy(aclTokens, 'expiration')) {
    for (const row of page) {
      if (endOf(row) > nowMs || rows.length >= tokensPerEntryMax) return rows
      rows.push(row)
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
