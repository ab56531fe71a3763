/** The hash by which a token is stored and found. */
import { hash } from 'node:crypto'

/** As the state stores it. A secret is 256 bits of chance, so there is nothing that salt or slowness would protect. */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'base64url')
}
