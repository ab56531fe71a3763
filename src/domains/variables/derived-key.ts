/**
 * Keys of other uses that all servers of a cluster share, derived from the cluster key: whoever has one of them learns
 * nothing of it, nor of another.
 */
import { hkdfSync } from 'node:crypto'
import type { ClusterKey } from './cluster-key.ts'
import { keyBytes } from './seal.ts'

/** The same for the same key and use, on every server. `use` names one use and its version. */
export function derivedKey(key: ClusterKey, use: `muster ${string}`): Buffer {
  return Buffer.from(hkdfSync('sha256', key.bytes, Buffer.alloc(0), use, keyBytes))
}
