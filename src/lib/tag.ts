/** Short names of what someone knows: whoever has the tag need not be told again. */
import { createHash } from 'node:crypto'

/** The same for the same text alone. */
export function tagOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
