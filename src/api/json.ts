/** JSON out (exact integers, four blanks when pretty) and in (bounded depth, valid UTF-8). */
import { isUtf8 } from 'node:buffer'
import { MusterError } from '../lib/errors.ts'

/** Values nested deeper than this are refused: what walks them later does so by recursion. */
export const jsonDepthMax = 100

/** JSON.rawJSON is in Node 24 but not in TypeScript's library yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }

/** Bigints print as integers. Without them, plain `JSON.stringify`. */
export function encodeJson(value: unknown, pretty: boolean): string {
  const indent = pretty ? 4 : undefined
  let text: string | undefined
  try {
    text = JSON.stringify(value, undefined, indent)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    text = JSON.stringify(value, exactIntegers, indent)
  }
  return pretty ? `${text ?? 'null'}\n` : (text ?? 'null')
}

function exactIntegers(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJSON(value.toString()) : value
}

/** As `decodeJson`; whole numbers that a double does not hold exactly are bigints. */
export function decodeJsonExact(body: Uint8Array): unknown {
  return decodeJson(body, keepDigits)
}

type Reviver = (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown

/** The third argument is in Node 24 but not in TypeScript's library yet. */
const keepDigits: Reviver = (_key, value, { source }) =>
  typeof value === 'number' && source !== undefined && /^-?[0-9]{16,}$/.test(source)
    ? exactInteger(source)
    : value

function exactInteger(source: string): number | bigint {
  const value = Number(source)
  return Number.isSafeInteger(value) ? value : BigInt(source)
}

/** Undefined for an empty body (blanks count as empty). The refusal never shows the body: it may hold secrets. */
export function decodeJson(body: Uint8Array, reviver?: Reviver): unknown {
  if (body.length === 0) return undefined
  if (!isUtf8(body)) {
    throw new MusterError('invalid_argument', 'the request body is not valid UTF-8')
  }
  if (body.length > 2 * jsonDepthMax && isDeep(body)) {
    throw new MusterError(
      'invalid_argument',
      `the request body is nested deeper than ${jsonDepthMax} levels`,
    )
  }
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8')
  try {
    return JSON.parse(text, reviver as Parameters<typeof JSON.parse>[1]) as unknown
  } catch {
    if (text.trim() === '') return undefined
    throw new MusterError('invalid_argument', 'the request body is not valid JSON')
  }
}

const code = {
  quote: 0x22,
  backslash: 0x5c,
  open: 0x5b,
  openBrace: 0x7b,
  close: 0x5d,
  closeBrace: 0x7d,
}

function isDeep(body: Uint8Array): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]
    if (inString) {
      if (byte === code.backslash) at += 1
      else if (byte === code.quote) inString = false
    } else if (byte === code.quote) {
      inString = true
    } else if (byte === code.open || byte === code.openBrace) {
      depth += 1
      if (depth > jsonDepthMax) return true
    } else if (byte === code.close || byte === code.closeBrace) {
      depth -= 1
    }
  }
  return false
}
