/** The hash of secrets in the audit log, under a key that all servers of the cluster derive from the cluster key. */
import type { ClusterKey } from '../domains/variables/cluster-key.ts'
import { derivedKey } from '../domains/variables/derived-key.ts'
import { SecretHasher } from './audit-line.ts'

/** Null while this server lacks the cluster key. Another cluster key makes other hashes. */
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
