/**
 * The keys of the gossip, and what is sealed with them: AES-GCM with a version byte, a nonce of 12 bytes, the sealed
 * bytes and a tag of 16. The first key seals, all are tried to open, so that keys can be exchanged while all run.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  randomBytes,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto'
import { MusterError } from '../../lib/errors.ts'

/** Every key is tried on a packet that none opens, about 10 µs each. */
export const keysMax = 16
const nonceBytes = 12
const tagBytes = 16
const blockBytes = 16

/** Version 0 pads to whole blocks first; only very old programs need it. */
export type SealVersion = 0 | 1

/** What sealing adds in version 1. */
export const sealOverheadBytes = 1 + nonceBytes + tagBytes
/** The shortest thing sealed. */
const sealedBytesMin = sealOverheadBytes

const ciphers = { 16: 'aes-128-gcm', 24: 'aes-192-gcm', 32: 'aes-256-gcm' } as const

type Key = {
  readonly bytes: Uint8Array
  readonly secret: KeyObject
  readonly cipher: (typeof ciphers)[keyof typeof ciphers]
}

export class Keyring {
  /** The first seals; never empty. */
  #keys: readonly Key[]

  /** Throws invalid_argument unless the keys are 16, 24 or 32 bytes each and 1 to 16 in number. */
  constructor(primary: Uint8Array, others: readonly Uint8Array[] = []) {
    this.#keys = [keyOf(primary)]
    for (const key of others) this.install(key)
  }

  /** Adds a key to open with. Without effect when it is there. */
  install(bytes: Uint8Array): void {
    const key = keyOf(bytes)
    if (this.#find(bytes) !== undefined) return
    if (this.#keys.length >= keysMax) {
      throw new MusterError(
        'too_large',
        `the gossip keyring holds ${keysMax} keys already; remove one before installing another`,
      )
    }
    this.#keys = [...this.#keys, key]
  }

  /** From now on this key seals. Throws not_found when it is not installed. */
  use(bytes: Uint8Array): void {
    const key = this.#find(bytes)
    if (key === undefined) {
      throw new MusterError(
        'not_found',
        'the gossip key is not installed; install it on every member first',
      )
    }
    this.#keys = [key, ...this.#keys.filter((other) => other !== key)]
  }

  /** Throws conflict for the key that seals. Without effect when the key is not there. */
  remove(bytes: Uint8Array): void {
    const key = this.#find(bytes)
    if (key === undefined) return
    if (key === this.#keys[0]) {
      throw new MusterError(
        'conflict',
        'the primary gossip key cannot be removed; use another key first',
      )
    }
    this.#keys = this.#keys.filter((other) => other !== key)
  }

  /** Copies, the one that seals first. */
  list(): readonly Uint8Array[] {
    return this.#keys.map(({ bytes }) => new Uint8Array(bytes))
  }

  /** Seals `plain`; `open` needs the same `context`. */
  seal(plain: Uint8Array, context: Uint8Array, version: SealVersion = 1): Uint8Array {
    const [key] = this.#keys
    if (key === undefined) throw new MusterError('internal', 'the gossip keyring is empty')
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv(key.cipher, key.secret, nonce, { authTagLength: tagBytes })
    cipher.setAAD(context)
    const first = cipher.update(version === 0 ? padded(plain) : plain)
    cipher.final()
    return Buffer.concat([Uint8Array.of(version), nonce, first, cipher.getAuthTag()])
  }

  /** Null when the bytes are not sealed, or by a key that is not here, or for another `context`. */
  open(sealed: Uint8Array, context: Uint8Array): Uint8Array | null {
    const version = sealed[0]
    if ((version !== 0 && version !== 1) || sealed.length < sealedBytesMin) return null
    for (const key of this.#keys) {
      const plain = opened(key, sealed, context)
      if (plain !== null) return version === 0 ? unpadded(plain) : plain
    }
    return null
  }

  #find(bytes: Uint8Array): Key | undefined {
    return this.#keys.find(
      (key) => key.bytes.length === bytes.length && timingSafeEqual(key.bytes, bytes),
    )
  }
}

/** How long `plainBytes` become, version, nonce and tag included. */
export function sealedBytes(plainBytes: number, version: SealVersion = 1): number {
  const padding = version === 0 ? blockBytes - (plainBytes % blockBytes) : 0
  return plainBytes + padding + sealOverheadBytes
}

/** Whether bytes could be sealed ones, going by their shape alone. */
export function looksSealed(bytes: Uint8Array): boolean {
  return bytes.length >= sealedBytesMin && (bytes[0] === 0 || bytes[0] === 1)
}

function keyOf(bytes: Uint8Array): Key {
  const { length } = bytes
  if (length !== 16 && length !== 24 && length !== 32) {
    throw new MusterError('invalid_argument', `a gossip key of ${length} bytes; use 16, 24 or 32`)
  }
  return {
    bytes: new Uint8Array(bytes),
    secret: createSecretKey(bytes),
    cipher: ciphers[length],
  }
}

function opened(key: Key, sealed: Uint8Array, context: Uint8Array): Uint8Array | null {
  const nonce = sealed.subarray(1, 1 + nonceBytes)
  const tagStart = sealed.length - tagBytes
  const decipher = createDecipheriv(key.cipher, key.secret, nonce, { authTagLength: tagBytes })
  decipher.setAAD(context)
  decipher.setAuthTag(sealed.subarray(tagStart))
  const plain = decipher.update(sealed.subarray(1 + nonceBytes, tagStart))
  try {
    decipher.final()
  } catch {
    return null
  }
  return plain
}

/** PKCS #7: one to sixteen bytes, each saying how many there are. */
function padded(plain: Uint8Array): Uint8Array {
  const count = blockBytes - (plain.length % blockBytes)
  const bytes = new Uint8Array(plain.length + count).fill(count, plain.length)
  bytes.set(plain)
  return bytes
}

function unpadded(bytes: Uint8Array): Uint8Array | null {
  const count = bytes.at(-1) ?? 0
  if (count < 1 || count > blockBytes || count > bytes.length) return null
  const plain = bytes.subarray(0, bytes.length - count)
  return bytes.subarray(plain.length).every((byte) => byte === count) ? plain : null
}
