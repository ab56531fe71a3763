/** Texts sealed by the keyring for tokens that are stored nowhere: one length byte, the id of the key, the sealed bytes, as base64url. */
import type { Reader } from '../../fsm/domain.ts'
import type { OpenedText, TextSealer } from '../host.ts'
import type { ClusterKeyring, SealContext } from './keyring.ts'
import { keyring } from './table.ts'

/** No namespace has such a name, so that no sealed text is taken for a variable, nor a variable for a text. */
const place = { namespace: ' texts', path: '' } as const

export class KeyringSealer implements TextSealer {
  readonly #keyring: ClusterKeyring

  constructor(clusterKeyring: ClusterKeyring) {
    this.#keyring = clusterKeyring
  }

  async seal(context: SealContext, text: string): Promise<string> {
    const key = await this.#keyring.ready(context)
    const id = Buffer.from(key.id)
    const sealed = this.#keyring.seal(key, place, [['text', text]])
    return Buffer.concat([Buffer.of(id.length), id, sealed]).toString('base64url')
  }

  open(reader: Reader, sealed: string): OpenedText | null {
    const bytes = Buffer.from(sealed, 'base64url')
    // Decoding overlooks letters that are none, and bits at the end.
    if (bytes.toString('base64url') !== sealed) return null
    const end = 1 + (bytes[0] ?? 0)
    const keyId = bytes.toString('utf8', 1, end)
    if (keyId === '' || !this.stands(reader, keyId)) return null
    try {
      const row = { ...place, keyId, sealed: bytes.subarray(end), modifyIndex: 0 }
      const [item] = this.#keyring.open(reader, row)
      return item === undefined ? null : { text: item[1], keyId }
    } catch {
      return null
    }
  }

  stands(reader: Reader, keyId: string): boolean {
    return reader.get(keyring, [keyId]) !== undefined
  }
}
