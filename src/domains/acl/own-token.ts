/** The token of whoever asks. */
import type { Reader } from '../../fsm/domain.ts'
import type { QueryContext } from '../../rpc/method.ts'
import { hashOf } from './authorizer.ts'
import type { TokenRow } from './model.ts'
import { aclIndex, tokenByHash } from './queries.ts'
import { batchTokens } from './services.ts'

/** null: there is none. A batch token is opened, for it is not stored. */
export function ownRow(
  reader: Reader,
  token: string,
  { service }: Pick<QueryContext, 'service'>,
): TokenRow | null {
  const stored = tokenByHash(reader, hashOf(token))
  return stored ?? service(batchTokens).open(reader, token)?.row ?? null
}

/** Of the newest change of what the token may do. */
export function ownIndex(reader: Reader, row: TokenRow | null): number {
  return Math.max(aclIndex(reader, 'policies'), aclIndex(reader, 'roles'), row?.modifyIndex ?? 0)
}
