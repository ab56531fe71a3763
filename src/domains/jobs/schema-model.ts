/** What the schemas of a job are made of: texts, numbers, lists and maps, each with its bound. */
import { Type, type TProperties, type TSchema } from 'typebox'

/** Of a list or a map, unless it says less. */
const itemsMax = 1_024
/** Letters of a name, a path, a word. */
const wordLengthMax = 1_024
/** Letters of anything: no part is longer than a job may be. */
const textLengthMax = 1024 * 1024
/** Whole seconds of 63 bits of nanoseconds; the doubles of whole seconds below are exact. */
const durationMax = 9_223_372_036 * 1e9

/** A block of a job: what else a client sends in it is no part of the job. */
export function block<Members extends TProperties>(title: string, members: Members) {
  return Type.Object(members, { additionalProperties: false, title })
}

export const Word = Type.String({ maxLength: wordLengthMax })
export const Text = Type.String({ maxLength: textLengthMax })
export const Flag = Type.Boolean()
export const Whole = Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })
export const Duration = Type.Integer({
  minimum: -durationMax,
  maximum: durationMax,
  description: 'Nanoseconds',
})

/** A member that came later: no job has it that did not ask for it, so that older programs read all others. */
export function later<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(schema)
}

export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

export function list<Schema extends TSchema>(schema: Schema, maxItems = itemsMax) {
  return Type.Immutable(Type.Array(schema, { maxItems }))
}

export function map<Schema extends TSchema>(schema: Schema) {
  return Type.Record(Type.String(), schema, { maxProperties: itemsMax })
}

export const Words = list(Word)
export const Texts = list(Text)
export const TextMap = map(Text)
