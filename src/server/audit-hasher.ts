/** The hash of secrets in the audit log, under a key that all servers of the cluster derive from the cluster key. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { ClusterKey } from '../domains/variables/cluster-key.ts'
import { derivedKey } from '../domains/variables/derived-key.ts'
import type { TokenBearers } from '../runtime/audit.ts'

/** Hashes of tokens that are kept, so that one costs a look into a table. */
const hashesKeptMax = 4_096
const keyIdLength = 8

/** Hashes secrets under one key. */
export class SecretHasher {
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
  let kept: SecretHasher | null = null
  return async () => {
    const key = await activeKey()
    if (key === null) return null
    if (kept?.keyId !== key.id) kept = new SecretHasher(key.id, derivedKey(key, 'muster audit 1'))
    return kept
  }
}

/** At a server, whose state knows all tokens that there are: `accessorOf` is asked before a request runs, and says all. */
export function serverBearers(
  accessorOf: TokenBearers['accessorOf'],
  hasher: () => Promise<SecretHasher | null>,
): TokenBearers {
  return {
    accessorOf,
    shown: async (tokens) => {
      const hashes = await hasher()
      const shownOf = (token: string) => ({ accessor: null, hash: hashes?.of(token) ?? null })
      return new Map([...tokens].map((token) => [token, shownOf(token)]))
    },
  }
}
