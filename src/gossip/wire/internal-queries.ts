/**
 * What the queries that members ask one another by themselves carry: the exchange of keys, and who bears a name. Each
 * is the payload of a query or of its response, with a byte of kind in front.
 */
import type { Endpoint } from '../core/message.ts'
import { readFields } from './fields.ts'
import type { ReadBounds } from './msgpack.ts'
import { Writer } from './msgpack-writer.ts'
import { textFrom } from './text.ts'

/** By their names on the wire. Other queries that begin with `_serf_` are to be ignored. */
export const internalQuery = {
  ping: '_serf_ping',
  conflict: '_serf_conflict',
  installKey: '_serf_install-key',
  useKey: '_serf_use-key',
  removeKey: '_serf_remove-key',
  listKeys: '_serf_list-keys',
} as const

const kind = { conflictResponse: 6, keyRequest: 7, keyResponse: 8 } as const
const keyBytesMax = 64
const textBytesMax = 4 * 1024
const bounds: ReadBounds = { valuesMax: 1024, stringBytesMax: textBytesMax }

export type KeyResponse = {
  readonly ok: boolean
  /** What went wrong, or that the list is cut short. */
  readonly message: string
  /** In base64; filled by the query that lists them. */
  readonly keys: readonly string[]
  /** In base64; empty from programs before serf 0.9. */
  readonly primaryKey: string
}

/** Of the queries about keys; an empty key for the one that lists them. */
export function encodeKeyRequest(key: Uint8Array): Uint8Array {
  return new Writer().byte(kind.keyRequest).map(1).text('Key').raw(key).finish()
}

/** Null for bytes that are no such request. The length of the key is the keyring's to check. */
export function decodeKeyRequest(bytes: Uint8Array): Uint8Array | null {
  const read = readFields(bytes, 1, bounds)
  if (bytes[0] !== kind.keyRequest || read === null) return null
  const key = read.fields.bytes('Key', keyBytesMax)
  return read.fields.valid ? key : null
}

export function encodeKeyResponse(response: KeyResponse): Uint8Array {
  const writer = new Writer().byte(kind.keyResponse).map(4)
  writer.text('Keys').array(response.keys.length)
  for (const key of response.keys) writer.text(key)
  writer.text('Message').text(response.message)
  writer.text('PrimaryKey').text(response.primaryKey)
  writer.text('Result').boolean(response.ok)
  return writer.finish()
}

/** Null for bytes that are no such response. */
export function decodeKeyResponse(bytes: Uint8Array): KeyResponse | null {
  const read = readFields(bytes, 1, bounds)
  if (bytes[0] !== kind.keyResponse || read === null) return null
  const { fields } = read
  const keys: string[] = []
  for (const value of fields.list('Keys', bounds.valuesMax)) {
    const key = value instanceof Uint8Array ? textFrom(value) : null
    if (key === null) fields.valid = false
    else keys.push(key)
  }
  const response = {
    ok: fields.boolean('Result'),
    message: fields.text('Message', textBytesMax),
    keys,
    primaryKey: fields.text('PrimaryKey', textBytesMax),
  }
  return fields.valid ? response : null
}

/** Where the answering member sees the bearer of a name; null when it knows none. */
export type ConflictResponse = { readonly name: string; readonly endpoint: Endpoint } | null

export function encodeConflictResponse(response: ConflictResponse): Uint8Array {
  const writer = new Writer().byte(kind.conflictResponse)
  if (response === null) return writer.nil().finish()
  // The rest of a member is ignored by the asking member.
  writer.map(3)
  writer.text('Addr').raw(response.endpoint.address)
  writer.text('Name').text(response.name)
  writer.text('Port').unsigned(response.endpoint.port)
  return writer.finish()
}

/** `invalid` for bytes that are no such response. */
export function decodeConflictResponse(bytes: Uint8Array): ConflictResponse | 'invalid' {
  if (bytes[0] !== kind.conflictResponse) return 'invalid'
  if (bytes[1] === 0xc0) return null
  const read = readFields(bytes, 1, bounds)
  if (read === null) return 'invalid'
  const { fields } = read
  const response = { name: fields.name('Name'), endpoint: fields.endpoint('Addr', 'Port') }
  return fields.valid ? response : 'invalid'
}
