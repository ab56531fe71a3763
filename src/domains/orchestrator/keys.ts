/** The keys that verify tokens, made of what an operator gives: PEM public keys, or certificates, of which the key is taken. */
import { createHash, createPublicKey, X509Certificate, type KeyObject } from 'node:crypto'
import { MusterError } from '../../lib/errors.ts'
import { LruMap } from '../../lib/lru-map.ts'
import type { Algorithm } from './jwt.ts'
import { pemBlocks, type PemBlock } from './pem.ts'

/** Shorter RSA keys are broken, longer ones take the processor's time of everyone. */
export const rsaBitsMin = 2_048
export const rsaBitsMax = 8_192
/** 65537 is usual. A long exponent makes a verification as slow as a signature. */
const rsaExponentMax = 2n ** 32n

export type VerificationKey = {
  readonly key: KeyObject
  /** What it can verify. */
  readonly algorithms: readonly Algorithm[]
  /** As orchestrators name their keys: the SHA-256 of the public key, in base64url. */
  readonly id: string
}

const ofRsa: readonly Algorithm[] = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
/** Each curve has its own algorithm. */
const ofCurve: Readonly<Record<string, Algorithm>> = {
  __proto__: null as never,
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

/** Throws `invalid_argument`, whose text repeats nothing of the key. */
export function verificationKey(pem: string): VerificationKey {
  const blocks = pemBlocks(pem)
  const [block, ...others] = blocks ?? []
  if (block === undefined) throw unfit('pem_keys must hold public keys or certificates in PEM')
  if (others.length > 0) throw unfit('each item of pem_keys must hold one key; give several items')
  const key = publicKeyOf(block)
  const algorithms = algorithmsOf(key)
  const spki = key.export({ type: 'spki', format: 'der' })
  return { key, algorithms, id: createHash('sha256').update(spki).digest('base64url') }
}

/** A private key would give its public one as well: only what is public by its name is read. */
function publicKeyOf({ label, text }: PemBlock): KeyObject {
  if (label.includes('PRIVATE')) throw unfit('pem_keys must not hold a private key')
  try {
    if (label === 'CERTIFICATE') return new X509Certificate(text).publicKey
    if (label === 'PUBLIC KEY' || label === 'RSA PUBLIC KEY') {
      return createPublicKey({ key: text, format: 'pem' })
    }
  } catch {
    throw unfit('pem_keys holds a key or certificate that cannot be read')
  }
  throw unfit('pem_keys must hold PUBLIC KEY or CERTIFICATE blocks')
}

function algorithmsOf(key: KeyObject): readonly Algorithm[] {
  const { modulusLength = 0, publicExponent = 0n, namedCurve = '' } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (modulusLength < rsaBitsMin || modulusLength > rsaBitsMax) {
        throw unfit(`an RSA key of pem_keys must have ${rsaBitsMin} to ${rsaBitsMax} bits`)
      }
      if (publicExponent > rsaExponentMax) {
        throw unfit('an RSA key of pem_keys has an exponent that is too large')
      }
      return ofRsa
    case 'ec': {
      const algorithm = ofCurve[namedCurve]
      if (algorithm !== undefined) return [algorithm]
      throw unfit('an EC key of pem_keys must be on P-256, P-384 or P-521')
    }
    case 'ed25519':
      return ['EdDSA']
    default:
      throw unfit('a key of pem_keys must be RSA, EC or Ed25519')
  }
}

/** Throws `invalid_argument` unless every block is a certificate and there is one. */
export function checkAuthorities(pem: string, name: string): void {
  const blocks = pemBlocks(pem)
  if (blocks === null || blocks.length === 0) {
    throw unfit(`${name} must hold certificates in PEM`)
  }
  for (const { label, text } of blocks) {
    if (label !== 'CERTIFICATE') throw unfit(`${name} must hold certificates only`)
    try {
      void new X509Certificate(text)
    } catch {
      throw unfit(`${name} holds a certificate that cannot be read`)
    }
  }
}

function unfit(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}

/** Keys of the configurations in use; more are parsed again. */
export const parsedKeysMax = 512

/** Each text is parsed once, and its key made ready by the library once. */
export class KeyCache {
  readonly #keys = new LruMap<string, VerificationKey>(parsedKeysMax)

  /** Throws as `verificationKey`. */
  of(pem: string): VerificationKey {
    const known = this.#keys.get(pem)
    if (known !== undefined) return known
    const key = verificationKey(pem)
    this.#keys.set(pem, key)
    return key
  }
}
