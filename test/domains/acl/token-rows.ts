/** Rows of tokens as tests need them: made by the issuer, put into the state as they are. */
import { drawToken, type TokenSpec } from '../../../src/domains/acl/issue.ts'
import type { ServerOfOne } from '../server-of-one.ts'

/** Every member that a token of a login may have. */
export const issuedMembers = {
  kind: 'batch',
  parent: '6b0f9c4e-8a5c-4a5e-9d7e-2f1c0a9b8d7e',
  lease: {
    ttlMs: 60_000,
    renewable: true,
    periodMs: 60_000,
    explicitMaxTtlMs: 3_600_000,
    renewTimeMs: 1_000,
  },
  usesLeft: 3,
  boundCidrs: ['10.0.0.0/8', '2001:db8::/32'],
  metadata: [['username', 'ada']],
  issuer: { mount: 'ldap', mountId: 'm1', alias: 'cn=ada,ou=people' },
} as const satisfies Partial<TokenSpec>

export function specWith(more: Partial<TokenSpec> = {}): TokenSpec {
  return {
    name: '',
    description: '',
    type: 'client',
    policies: [],
    roles: [],
    createTimeMs: 0,
    expirationTimeMs: null,
    ...more,
  }
}

/** Puts a token into the state, whatever members it has. */
export async function putToken(server: Pick<ServerOfOne, 'propose'>, more: Partial<TokenSpec>) {
  const { token, secret } = drawToken(specWith(more), null)
  const { outcome } = await server.propose({ type: 'acl.createToken', args: token })
  if ((outcome as { readonly type: string }).type !== 'written') {
    throw new Error(`the token was not written: ${JSON.stringify(outcome)}`)
  }
  return { ...token, secret }
}
