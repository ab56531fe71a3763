/** Tokens of service accounts, signed by keys that a test made, and others that no orchestrator would issue. */
import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import type { Rule } from '../../../src/domains/orchestrator/refused.ts'

export type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject }

export function pairOf(kind: 'rsa' | 'P-256' | 'P-384' | 'P-521' | 'ed25519'): Pair {
  if (kind === 'rsa') return generateKeyPairSync('rsa', { modulusLength: 2_048 })
  if (kind === 'ed25519') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('ec', { namedCurve: kind })
}

export function publicPem({ publicKey }: Pair): string {
  return publicKey.export({ type: 'spki', format: 'pem' }) as string
}

export function privatePem({ privateKey }: Pair): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

export function encoded(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return Buffer.from(text).toString('base64url')
}

/** Header and claims: values, or texts as they are. */
export function signed(header: unknown, claims: unknown, by: Pair, alg?: string): string {
  const input = `${encoded(header)}.${encoded(claims)}`
  const named = alg ?? (header as { readonly alg: string }).alg
  return `${input}.${signatureOf(input, by.privateKey, named).toString('base64url')}`
}

/** With a shared secret, as whoever confuses algorithms does with a public key. */
export function signedByHmac(header: unknown, claims: unknown, secret: string): string {
  const input = `${encoded(header)}.${encoded(claims)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

function signatureOf(input: string, key: KeyObject, alg: string): Buffer {
  const bytes = Buffer.from(input)
  if (alg === 'EdDSA') return sign(null, bytes, key)
  const hash = `sha${alg.slice(2)}`
  if (alg.startsWith('ES')) return sign(hash, bytes, { key, dsaEncoding: 'ieee-p1363' })
  if (alg.startsWith('RS')) return sign(hash, bytes, key)
  // RSASSA-PSS with salt as long as the digest.
  return sign(hash, bytes, { key, padding: 6, saltLength: Number(alg.slice(2)) / 8 })
}

export type Account = { readonly namespace: string; readonly name: string; readonly uid: string }

export const account: Account = {
  namespace: 'shop',
  name: 'till',
  uid: 'd77f89bc-9055-11e7-a068-0800276d99bf',
}

/** As a projected token has them, good for an hour around `nowMs`. */
export function projected(nowMs: number, { namespace, name, uid }: Account = account) {
  const now = Math.floor(nowMs / 1_000)
  return {
    aud: ['https://orchestrator.test'],
    exp: now + 3_600,
    iat: now - 10,
    iss: 'https://orchestrator.test',
    nbf: now - 10,
    sub: `system:serviceaccount:${namespace}:${name}`,
    'kubernetes.io': {
      namespace,
      pod: { name: 'till-0', uid: '1e2c8b3a-64a3-43ee-9d2c-000000000001' },
      serviceaccount: { name, uid },
    },
  }
}

/** As one has them that a secret keeps: without any time. */
export function legacy({ namespace, name, uid }: Account = account) {
  return {
    iss: 'kubernetes/serviceaccount',
    'kubernetes.io/serviceaccount/namespace': namespace,
    'kubernetes.io/serviceaccount/secret.name': `${name}-token-x7k2p`,
    'kubernetes.io/serviceaccount/service-account.name': name,
    'kubernetes.io/serviceaccount/service-account.uid': uid,
    sub: `system:serviceaccount:${namespace}:${name}`,
  }
}

/** What a refusal by this rule looks like. */
export function by(rule: Rule, message?: string | RegExp) {
  const refusal = { name: 'Refused', rule }
  return message === undefined ? refusal : { ...refusal, message }
}
