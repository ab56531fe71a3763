/** Whose the tokens of requests are, for the audit log. */
import type { SecretHasher } from '../domains/host.ts'
import type { TokenBearers } from '../runtime/audit.ts'

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
