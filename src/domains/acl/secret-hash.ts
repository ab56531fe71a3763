/** The hash by which a token is stored and found. */
import { hash } from 'node:crypto'

let lastSecret = ''
let lastHash = ''

/**
 * As the state stores it. A secret is 256 bits of chance, so there is nothing that salt or slowness would protect. A request
 * that asks twice, as one that looks its own token up, is answered from the first time.
 */
export function hashOf(secret: string): string {
  if (secret === lastSecret && lastHash !== '') return lastHash
  const hashed = hash('sha256', secret, 'base64url')
  lastSecret = secret
  lastHash = hashed
  return hashed
}
