/**
 * A JSON Web Token as text: its form, its header, its claims, before anything of it is believed. Every key that the token
 * itself names or carries (`jwk`, `jku`, `x5c`, `x5u`) is ignored: only the keys of the configuration verify.
 */
import { isJsonObject, type JsonObject } from '../../lib/json-object.ts'
import { memberOf, parseStrictJson } from '../../lib/strict-json.ts'
import { Refused } from './refused.ts'

/** Those of orchestrators have about one kilobyte, with many audiences two. */
export const jwtBytesMax = 16 * 1024

/** Signatures by a private key alone. `none` and those by a shared secret are no names of this list, however they are spelled. */
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const

export type Algorithm = (typeof algorithms)[number]

export type Jwt = {
  /** As it was sent. Never shown, never logged. */
  readonly text: string
  readonly algorithm: Algorithm
  /** Which key is tried first; null: it does not say. */
  readonly keyId: string | null
  readonly claims: JsonObject
}

/** Throws `Refused`. */
export function parseJwt(text: string): Jwt {
  if (text.length > jwtBytesMax) {
    throw new Refused('size', `the token has ${text.length} bytes; at most ${jwtBytesMax} are read`)
  }
  const parts = text.split('.')
  const [header, claims, signature] = parts
  if (header === undefined || claims === undefined || signature === undefined || parts.length > 3) {
    throw new Refused('form', 'the token does not have three parts with dots between')
  }
  const { algorithm, keyId } = readHeader(objectOf(header, 'header'))
  const found = objectOf(claims, 'payload')
  bytesOf(signature, 'signature')
  return { text, algorithm, keyId, claims: found }
}

function readHeader(header: JsonObject): Pick<Jwt, 'algorithm' | 'keyId'> {
  // An extension that has to be understood is one that this program does not know.
  for (const name of ['crit', 'b64']) {
    if (Object.hasOwn(header, name)) {
      throw new Refused(
        'critical header',
        `the header has a "${name}", whose extensions are not known`,
      )
    }
  }
  const named = memberOf(header, 'alg')
  const algorithm = algorithms.find((known) => known === named)
  if (algorithm === undefined) {
    throw new Refused('algorithm', 'the header names no algorithm that is taken')
  }
  const keyId = memberOf(header, 'kid')
  return { algorithm, keyId: typeof keyId === 'string' ? keyId : null }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function objectOf(part: string, what: string): JsonObject {
  let text: string
  const bytes = bytesOf(part, what)
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new Refused('form', `the ${what} is not UTF-8`)
  }
  let value: unknown
  try {
    value = parseStrictJson(text)
  } catch (error) {
    const isTwin = error instanceof SyntaxError && error.message.includes('twice')
    if (isTwin) throw new Refused('duplicate member', `the ${what} has a member twice`)
    throw new Refused('form', `the ${what} is not JSON, or too deep`)
  }
  if (!isJsonObject(value)) throw new Refused('form', `the ${what} is not a JSON object`)
  return value
}

/** One text for one meaning: no padding, no letters of plain base64, no bits left over. */
function bytesOf(part: string, what: string): Buffer {
  const bytes = Buffer.from(part, 'base64url')
  if (part === '' || bytes.toString('base64url') !== part) {
    throw new Refused('form', `the ${what} is not base64url`)
  }
  return bytes
}
