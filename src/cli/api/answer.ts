/** Fields of what a server answered. A field of another kind than expected means another program answered. */
import { MusterError } from '../../lib/errors.ts'
import { isObject, type Json, type JsonObject } from '../../lib/exact-json.ts'

export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : strange('an object')
}

export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : strange('a list')
}

export function textOf(object: JsonObject, name: string): string {
  const value = own(object, name)
  return typeof value === 'string' ? value : strange(`text for ${name}`)
}

export function flagOf(object: JsonObject, name: string): boolean {
  const value = own(object, name)
  return typeof value === 'boolean' ? value : strange(`true or false for ${name}`)
}

/** As text, with every digit. */
export function integerOf(object: JsonObject, name: string): string {
  const value = own(object, name)
  return typeof value === 'number' || typeof value === 'bigint'
    ? value.toString()
    : strange(`a number for ${name}`)
}

/** Of what people have a handful or some thousands of. */
export function countOf(object: JsonObject, name: string): number {
  return Number(integerOf(object, name))
}

const none = '<none>'

/** RFC 3339 in UTC of a time in nanoseconds, to the second; `<none>` when the field is 0. */
export function timeOf(object: JsonObject, name: string): string {
  const ns = BigInt(integerOf(object, name))
  if (ns === 0n) return none
  const date = new Date(Number(ns / 1_000_000n))
  return Number.isNaN(date.getTime()) ? none : date.toISOString().replace(/\.\d+Z$/, 'Z')
}

/** A text for each name, as in Items and Meta, in the order of the answer. */
export function pairsOf(object: JsonObject, name: string): readonly (readonly [string, string])[] {
  const value = own(object, name)
  if (value === undefined || value === null) return []
  return Object.entries(objectOf(value)).map(([key, text]) => [
    key,
    typeof text === 'string' ? text : strange(`text in ${name}`),
  ])
}

/** An object for each name, as in Summary; none where the field is null or absent. */
export function membersOf(
  object: JsonObject,
  name: string,
): readonly (readonly [string, JsonObject])[] {
  const value = own(object, name)
  if (value === undefined || value === null) return []
  return Object.entries(objectOf(value)).map(([key, member]) => [key, objectOf(member)])
}

/** A count for each name, as in ConstraintFiltered; none where the field is null or absent. */
export function countsOf(object: JsonObject, name: string): readonly (readonly [string, number])[] {
  const value = own(object, name)
  if (value === undefined || value === null) return []
  const counts = objectOf(value)
  return Object.keys(counts).map((key) => [key, countOf(counts, key)])
}

/** A list of texts. */
export function textsOf(object: JsonObject, name: string): readonly string[] {
  return listOf(own(object, name)).map((text) =>
    typeof text === 'string' ? text : strange(`texts in ${name}`),
  )
}

function own(object: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function strange(expected: string): never {
  throw new MusterError(
    'incompatible',
    `the answer is not what a Muster agent sends: expected ${expected}; does -address name one?`,
  )
}
