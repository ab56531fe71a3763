/** Seals and opens secrets by the cluster's keyring. Nothing else of this program sees them in the clear and keeps them. */
import { MusterError } from '../../lib/errors.ts'
import type { LocalContext } from '../../rpc/method.ts'
import { clusterKeyring } from '../variables/services.ts'
import { secretsNamespace } from '../variables/model.ts'
import { secretBytesMax, type SealedSecret } from './secrets-model.ts'
import { secretRow } from './secrets-table.ts'

/**
 * For the arguments of a command, which writes it by `putSecret`. `owner`: see `SecretOwner`. Throws `invalid_argument` for one
 * that is too long, `unavailable` when this server has no key to seal with for some seconds.
 */
export async function sealSecret(
  context: Pick<LocalContext, 'clock' | 'read' | 'service' | 'signal'>,
  owner: string,
  text: string,
): Promise<SealedSecret> {
  if (Buffer.byteLength(text) > secretBytesMax) {
    throw new MusterError('invalid_argument', `a secret has at most ${secretBytesMax} bytes`)
  }
  const keyring = context.service(clusterKeyring)
  const key = await keyring.ready(context)
  const place = { namespace: secretsNamespace, path: owner }
  return { owner, keyId: key.id, sealed: keyring.seal(key, place, [['text', text]]) }
}

/** null: there is none. Throws `unavailable` on a server without the cluster key. */
export function openSecret(
  context: Pick<LocalContext, 'read' | 'service'>,
  owner: string,
): string | null {
  const reader = context.read()
  const row = secretRow(reader, owner)
  if (row === null) return null
  const [item] = context.service(clusterKeyring).open(reader, row)
  return item?.[1] ?? null
}
