/**
 * JSON as servers send it and as commands print it. Whole numbers beyond 2^53 (times in nanoseconds, flags) keep
 * every digit: they are bigints here.
 */
import { MusterError } from './errors.ts'

export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Json[]
  | { readonly [name: string]: Json }

export type JsonObject = { readonly [name: string]: Json }

/** In Node 24, and not in TypeScript's library yet. */
const exact = JSON as unknown as {
  parse(
    text: string,
    reviver: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
  rawJSON(text: string): unknown
}

/** `what` begins the error: "the server's answer". */
export function parseJson(text: string, what: string): Json {
  try {
    return exact.parse(text, (_key, value, { source }) =>
      typeof value === 'number' && !Number.isSafeInteger(value) && isWhole(source)
        ? BigInt(source)
        : value,
    ) as Json
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new MusterError('invalid_argument', `${what} is not valid JSON`)
  }
}

function isWhole(source: string | undefined): source is string {
  return source !== undefined && /^-?\d+$/.test(source)
}

/** Indented by four spaces, as Consul and Nomad print it; ends with a line break. */
export function printJson(value: Json): string {
  return `${JSON.stringify(value, exactIntegers, 4)}\n`
}

/** On one line, without a break at its end. */
export function lineOfJson(value: Json): string {
  return JSON.stringify(value, exactIntegers)
}

function exactIntegers(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? exact.rawJSON(value.toString()) : value
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
