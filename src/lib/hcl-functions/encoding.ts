/** Functions between texts and their encodings, and hashes. */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import type { HclCall, HclFunctions } from './call.ts'
import { jsonOf, valueOfJson } from './json.ts'

export const encodingFunctions: HclFunctions = {
  base64decode: { parameters: 'text', run: base64Decoded },
  base64encode: {
    parameters: 'text',
    run: (call) => {
      const text = call.text(0)
      call.checkRoom(text.length)
      return Buffer.from(text).toString('base64')
    },
  },
  jsondecode: { parameters: 'text', run: (call) => valueOfJson(call.text(0), call) },
  jsonencode: { parameters: 'value', run: (call) => jsonOf(call.any(0), call) },
  urlencode: { parameters: 'text', run: urlEncoded },
}

export const hashFunctions: HclFunctions = {
  md5: { parameters: 'text', run: (call) => hashOf('md5', call) },
  sha1: { parameters: 'text', run: (call) => hashOf('sha1', call) },
  sha256: { parameters: 'text', run: (call) => hashOf('sha256', call) },
  sha512: { parameters: 'text', run: (call) => hashOf('sha512', call) },
  uuidv5: { parameters: 'namespace, name', run: uuidOfName },
}

/** Only the letters of a path count: no folder is looked at. */
export const pathFunctions: HclFunctions = {
  basename: {
    parameters: 'path',
    run: (call) => posix.basename(call.text(0)) || (call.text(0) === '' ? '.' : '/'),
  },
  dirname: { parameters: 'path', run: (call) => posix.normalize(posix.dirname(call.text(0))) },
}

function hashOf(algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512', call: HclCall): string {
  return createHash(algorithm).update(call.text(0)).digest('hex')
}

function base64Decoded(call: HclCall): string {
  const text = call.text(0)
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
  if (!isBase64) call.fail('this is not base64', 0)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Buffer.from(text, 'base64'),
    )
  } catch {
    return call.fail('what is encoded is no text in UTF-8', 0)
  }
}

/** As a part of a query: a blank is a plus sign. */
function urlEncoded(call: HclCall): string {
  const text = call.text(0)
  call.checkRoom(text.length)
  const escape = (letter: string): string =>
    `%${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  return encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()*]/g, escape)
    .replaceAll('%20', '+')
}

/** RFC 9562, appendix A. */
const namespaces: Readonly<Record<string, string>> = {
  dns: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  url: '6ba7b811-9dad-11d1-80b4-00c04fd430c8',
  oid: '6ba7b812-9dad-11d1-80b4-00c04fd430c8',
  x500: '6ba7b814-9dad-11d1-80b4-00c04fd430c8',
}

function uuidOfName(call: HclCall): string {
  const written = call.text(0)
  const namespace = Object.hasOwn(namespaces, written) ? namespaces[written] : written
  const hex = (namespace ?? '').replaceAll('-', '')
  if (!/^[0-9a-fA-F]{32}$/.test(hex)) {
    call.fail('a namespace is dns, url, oid, x500 or a UUID', 0)
  }
  const hash = createHash('sha1').update(Buffer.from(hex, 'hex')).update(call.text(1)).digest()
  // Version 5, variant 10.
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6)
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8)
  const all = hash.toString('hex')
  const ends = [8, 12, 16, 20, 32]
  return ends.map((end, index) => all.slice(ends[index - 1] ?? 0, end)).join('-')
}
