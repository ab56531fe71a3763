/**
 * Secrets are kept beside the sealed items of variables, in a namespace of their own: so the keyring seals them anew when its
 * key is replaced, and keeps an old key for as long as a secret needs it.
 */
import type { Change, Reader } from '../../fsm/domain.ts'
import { put, remove } from '../define.ts'
import { secretsNamespace, type SealedRow } from '../variables/model.ts'
import { sealedItems } from '../variables/table.ts'
import type { SealedSecret } from './secrets-model.ts'

/** `index`: of the entry. */
export function putSecret({ owner, keyId, sealed }: SealedSecret, index: number): Change {
  const row = { namespace: secretsNamespace, path: owner, modifyIndex: index, keyId, sealed }
  return put(sealedItems, row)
}

/** Also where there is none. */
export function removeSecret(owner: string): Change {
  return remove(sealedItems, [secretsNamespace, owner])
}

export function secretRow(reader: Pick<Reader, 'get'>, owner: string): SealedRow | null {
  return reader.get(sealedItems, [secretsNamespace, owner]) ?? null
}
