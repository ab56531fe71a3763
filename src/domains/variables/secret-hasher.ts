/** The hash of secrets in the audit log, under a key that all servers of the cluster derive from the cluster key. */
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { SecretHasher } from '../host.ts'
import type { ClusterKey } from './cluster-key.ts'
import { keyBytes } from './seal.ts'

/** Hashes of tokens that are kept, so that one costs a look into a table. */
const hashesKeptMax = 4_096
const keyIdLength = 8

/** Hashes secrets under one key. */
class KeyedHasher implements SecretHasher {
  readonly keyId: string
  readonly #key: KeyObject
  readonly #kept = new Map<string, string>()

  constructor(keyId: string, key: Uint8Array) {
    this.keyId = keyId
    this.#key = createSecretKey(key)
  }

  /** `hmac-sha256:<which key>:<hash>`; in the hash are 256 bits. */
  of(secret: string): string {
    const known = this.#kept.get(secret)
    if (known !== undefined) return known
    const hash = createHmac('sha256', this.#key).update(secret).digest('hex')
    const text = `hmac-sha256:${this.keyId.slice(0, keyIdLength)}:${hash}`
    if (this.#kept.size >= hashesKeptMax) this.#kept.clear()
    this.#kept.set(secret, text)
    return text
  }
}

/** Null while this server lacks the cluster key: then tokens have no hash. Another cluster key makes other hashes. */
export function clusterHasher(
  activeKey: () => Promise<ClusterKey | null>,
): () => Promise<SecretHasher | null> {
  let kept: KeyedHasher | null = null
  return async () => {
    const key = await activeKey()
    if (key === null) return null
    if (kept?.keyId !== key.id) kept = new KeyedHasher(key.id, derivedKey(key, 'muster audit 1'))
    return kept
  }
}

/**
 * A key of another use that all servers of a cluster share: a process that has it learns nothing of the cluster key, nor of a key of
 * a third use. `use` names one use and its version.
 */
function derivedKey(key: ClusterKey, use: `muster ${string}`): Buffer {
  return Buffer.from(hkdfSync('sha256', key.bytes, Buffer.alloc(0), use, keyBytes))
}
