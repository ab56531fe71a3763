/** The hash by which a token is stored and found. */
import { hash } from 'node:crypto'
import { LruMap } from '../../lib/lru-map.ts'

/** Of the secrets that came last, in memory only: a hash costs as much as all else that finds a token. */
const hashes = new LruMap<string, string>(4_096)
/** What is longer is no token of this cluster. */
const keptLengthMax = 1_024

/** As the state stores it. A secret is 256 random bits, so there is nothing that salt or slowness would protect. */
export function hashOf(secret: string): string {
  const known = hashes.get(secret)
  if (known !== undefined) return known
  const hashed = hash('sha256', secret, 'base64url')
  if (secret.length <= keptLengthMax) hashes.set(secret, hashed)
  return hashed
}
