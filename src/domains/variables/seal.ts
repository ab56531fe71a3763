/**
 * Sealing: AES-256-GCM, authenticated with what the bytes belong to, so that no sealed value can be passed off as
 * another's.
 *
 * Sealed items: version 1 (1 byte) | salt (16) | nonce (12) | ciphertext | tag (16). The key is derived from the data
 * key and the salt (HKDF-SHA256); a process draws a salt of its own and counts its nonces, so the limit of 2^32 random
 * nonces per key is out of reach however long a data key lives.
 * Wrapped key: version 1 (1 byte) | nonce (12) | ciphertext (32) | tag (16).
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { assert } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Items } from './model.ts'

export const keyBytes = 32
const saltBytes = 16
const nonceBytes = 12
const tagBytes = 16
const format = 1
/** In front of what items are bound to. */
const itemsName = 'muster variable items 1'

const noBytes = Buffer.alloc(0)

/** Messages under one derived key. Far below what a 96-bit counter allows: a new salt costs nothing. */
const messagesPerSaltMax = 2 ** 32

/** Derived keys kept, the ones used last: one per data key and process that sealed with it. */
const derivedMax = 256

export type Owner = { readonly namespace: string; readonly path: string }

/** `bound`: what all that is sealed with the key is bound to. */
type SealingKey = {
  readonly salt: Buffer
  readonly key: KeyObject
  readonly bound: Buffer
  count: number
}

/** Seals and opens items under data keys. Holds derived keys only in memory. */
export class Sealer {
  /** By data key id. */
  readonly #sealing = new Map<string, SealingKey>()
  /** By data key id and salt, in order of use. */
  readonly #derived = new Map<string, KeyObject>()

  seal(
    items: Items,
    key: { readonly id: string; readonly bytes: Uint8Array },
    owner: Owner,
  ): Buffer {
    let sealing = this.#sealing.get(key.id)
    if (sealing === undefined || sealing.count >= messagesPerSaltMax) {
      const salt = randomBytes(saltBytes)
      sealing = { salt, key: derive(key.bytes, salt), bound: bound(itemsName, key.id), count: 0 }
      this.#sealing.set(key.id, sealing)
    }
    const nonce = Buffer.alloc(nonceBytes)
    nonce.writeUIntBE(sealing.count++, nonceBytes - 6, 6)
    const cipher = createCipheriv('aes-256-gcm', sealing.key, nonce)
    cipher.setAAD(boundAfter(sealing.bound, owner.namespace, owner.path))
    const plain = Buffer.from(JSON.stringify(items))
    const body = cipher.update(plain)
    plain.fill(0)
    // In counter mode nothing is left over for here.
    cipher.final()
    const bodyStart = 1 + saltBytes + nonceBytes
    const sealed = Buffer.allocUnsafe(bodyStart + body.length + tagBytes)
    sealed[0] = format
    sealed.set(sealing.salt, 1)
    sealed.set(nonce, 1 + saltBytes)
    sealed.set(body, bodyStart)
    sealed.set(cipher.getAuthTag(), bodyStart + body.length)
    return sealed
  }

  /** Throws `corrupt` when the bytes are not what `seal` made for this key and owner. */
  open(
    sealed: Uint8Array,
    key: { readonly id: string; readonly bytes: Uint8Array },
    owner: Owner,
  ): Items {
    const what = `the items of variable ${JSON.stringify(owner.path)} in namespace ${owner.namespace}`
    const parts = split(sealed, saltBytes, what)
    const bytes = this.#derivedKey(key, parts.salt)
    const aad = bound(itemsName, key.id, owner.namespace, owner.path)
    const plain = decrypt(bytes, parts, aad)
    if (plain === null) throw new MusterError('corrupt', `${what} do not open with key ${key.id}`)
    const items = JSON.parse(plain.toString()) as Items
    plain.fill(0)
    return items
  }

  #derivedKey(key: { readonly id: string; readonly bytes: Uint8Array }, salt: Buffer): KeyObject {
    const name = `${key.id} ${salt.toString('latin1')}`
    const bytes = this.#derived.get(name) ?? derive(key.bytes, salt)
    this.#derived.delete(name)
    this.#derived.set(name, bytes)
    if (this.#derived.size > derivedMax) {
      const oldest = this.#derived.keys().next()
      if (!oldest.done) this.#derived.delete(oldest.value)
    }
    return bytes
  }
}

export function wrapKey(
  key: Uint8Array,
  keyId: string,
  clusterKey: { readonly id: string; readonly bytes: Uint8Array },
): Buffer {
  assert(key.byteLength === keyBytes, 'a data key has 32 bytes')
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', clusterKey.bytes, nonce)
  cipher.setAAD(bound('muster wrapped key 1', keyId, clusterKey.id))
  const body = [cipher.update(key), cipher.final()]
  return Buffer.concat([Buffer.of(format), nonce, ...body, cipher.getAuthTag()])
}

/** Throws `corrupt` when the bytes are not what `wrapKey` made of this key under this cluster key. */
export function unwrapKey(
  wrapped: Uint8Array,
  keyId: string,
  clusterKey: { readonly id: string; readonly bytes: Uint8Array },
): Buffer {
  const parts = split(wrapped, 0, `the wrapped key ${keyId}`)
  const aad = bound('muster wrapped key 1', keyId, clusterKey.id)
  const key = decrypt(clusterKey.bytes, parts, aad)
  if (key?.byteLength !== keyBytes) {
    throw new MusterError(
      'corrupt',
      `data key ${keyId} does not open with cluster key ${clusterKey.id}`,
    )
  }
  return key
}

type Parts = { salt: Buffer; nonce: Buffer; body: Buffer; tag: Buffer }

function split(bytes: Uint8Array, saltLength: number, what: string): Parts {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (data[0] !== format || data.length < 1 + saltLength + nonceBytes + tagBytes) {
    const newer = data[0] !== undefined && data[0] > format
    throw newer
      ? new MusterError('incompatible', `${what} were sealed by a newer version of this program`)
      : new MusterError('corrupt', `${what} are not what was written`)
  }
  const nonceStart = 1 + saltLength
  const bodyStart = nonceStart + nonceBytes
  const tagStart = data.length - tagBytes
  return {
    salt: data.subarray(1, nonceStart),
    nonce: data.subarray(nonceStart, bodyStart),
    body: data.subarray(bodyStart, tagStart),
    tag: data.subarray(tagStart),
  }
}

function decrypt(key: KeyObject | Uint8Array, parts: Parts, aad: Uint8Array): Buffer | null {
  const decipher = createDecipheriv('aes-256-gcm', key, parts.nonce, { authTagLength: tagBytes })
  decipher.setAAD(aad)
  decipher.setAuthTag(parts.tag)
  const plain = decipher.update(parts.body)
  try {
    decipher.final()
    return plain
  } catch {
    return null
  }
}

/** A key object: a cipher made from plain bytes takes two and a half times as long. */
function derive(key: Uint8Array, salt: Uint8Array): KeyObject {
  return createSecretKey(
    Buffer.from(hkdfSync('sha256', key, salt, 'muster variable items 1', keyBytes)),
  )
}

/** Texts with their lengths in front: no two lists of texts give the same bytes. */
function bound(...texts: readonly string[]): Buffer {
  return boundAfter(noBytes, ...texts)
}

/** As `bound` of all texts, of which the first gave `front`. */
function boundAfter(front: Buffer, ...texts: readonly string[]): Buffer {
  let length = front.length
  for (const text of texts) length += 4 + Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(length)
  bytes.set(front)
  let end = front.length
  for (const text of texts) {
    const written = bytes.write(text, end + 4)
    bytes.writeUInt32BE(written, end)
    end += 4 + written
  }
  return bytes
}
