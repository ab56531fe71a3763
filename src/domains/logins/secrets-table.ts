/**
 * Secrets are kept beside the sealed items of variables, in a namespace of their own: so the keyring seals them anew when its
 * key is replaced, and keeps an old key for as long as a secret needs it.
 */
import type { Change, Reader } from '../../fsm/domain.ts'
import { insert, put, remove } from '../define.ts'
import { secretsNamespace, type SealedRow } from '../variables/model.ts'
import { sealedItems } from '../variables/table.ts'
import type { SealedSecret } from './secrets-model.ts'

/** `index`: of the entry. */
export function putSecret(secret: SealedSecret, index: number): Change {
  return put(sealedItems, rowOf(secret, index))
}

/** As `putSecret`, of an owner that is made in the same entry: an old one is not looked for. */
export function insertSecret(secret: SealedSecret, index: number): Change {
  return insert(sealedItems, rowOf(secret, index))
}

function rowOf({ owner, keyId, sealed }: SealedSecret, modifyIndex: number): SealedRow {
  return { namespace: secretsNamespace, path: owner, modifyIndex, keyId, sealed }
}

/** Also where there is none. */
export function removeSecret(owner: string): Change {
  return remove(sealedItems, [secretsNamespace, owner])
}

export function secretRow(reader: Pick<Reader, 'get'>, owner: string): SealedRow | null {
  return reader.get(sealedItems, [secretsNamespace, owner]) ?? null
}
