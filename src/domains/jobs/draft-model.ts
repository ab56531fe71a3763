/**
 * A job as a client wrote it: any part may be missing. The schemas of the complete job say what there is. As everywhere in the API
 * names are read in any letter case, null is absent, unknown members are ignored and a wrong type is refused.
 */
import { Type, type TSchema } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { isJsonObject } from '../../lib/json-object.ts'
import { Validator } from '../../fsm/validator.ts'
import { JobSpec } from './model.ts'
import { memberPath, Problems } from './problem-model.ts'
import { harmlessValues, refusedMembers } from './refused-model.ts'

/** Below Config, whose shape the driver knows alone. */
const configDepthMax = 16
/** Values of all of Config. */
const configValuesMax = 100_000
/** Of the faults that one refusal names. */
const faultsShownMax = 10

export type Draft<Value> = unknown extends Value
  ? unknown
  : Value extends string | number | boolean
    ? Value
    : Value extends readonly (infer Item)[]
      ? readonly Draft<Item>[]
      : string extends keyof Value
        ? { readonly [Key in string]: Draft<Value[Key]> }
        : { readonly [Key in keyof Value]?: Draft<NonNullable<Value[Key]>> }

export type JobDraft = Draft<JobSpec>

const accepted = new Validator(Type.Unsafe<JobDraft>(partOf(JobSpec, { nulls: false })))

export type ReadJob = {
  readonly draft: JobDraft
  /** Of parts that this program does not do. */
  readonly refused: Problems
}

/** Throws `invalid_argument` with the path of each member of a wrong type or size. */
export function readJob(value: unknown): ReadJob {
  const reading = new Reading()
  const draft = reading.read(JobSpec, value, '')
  if (!reading.faults.isEmpty) {
    throw new MusterError('invalid_argument', reading.faults.texts(faultsShownMax).join('; '))
  }
  if (!accepted.accepts(draft)) {
    const fault = accepted.faultOf(draft)
    throw new MusterError('internal', `a job was read wrong: ${fault?.path} ${fault?.text}`)
  }
  return { draft, refused: reading.refused }
}

/** One pass over what a client sent. */
class Reading {
  readonly faults = new Problems()
  readonly refused = new Problems()
  #configValues = 0

  /** Undefined: absent, or not what it should be. */
  read(schema: TSchema, value: unknown, path: string): unknown {
    if (Type.IsUnion(schema)) return this.read(present(schema.anyOf), value, path)
    if (Type.IsRecord(schema)) return this.#map(schema, value, path)
    if (Type.IsObject(schema)) return this.#members(schema, value, path)
    if (Type.IsArray(schema)) return this.#list(schema, value, path)
    if (Type.IsUnknown(schema)) return this.#any(value, path, 0)
    if (Type.IsString(schema)) {
      if (typeof value !== 'string') return this.#wrong(path, 'must be a string')
      const longest = limitOf(schema, 'maxLength')
      return value.length > longest
        ? this.#wrong(path, `has ${value.length} letters, at most ${longest} are possible`)
        : value.toWellFormed()
    }
    if (Type.IsInteger(schema)) {
      const minimum = limitOf(schema, 'minimum')
      const maximum = limitOf(schema, 'maximum')
      if (typeof value === 'bigint') return this.#wrong(path, `must be at most ${maximum}`)
      return typeof value === 'number' &&
        Number.isInteger(value) &&
        value >= minimum &&
        value <= maximum
        ? value
        : this.#wrong(path, `must be a whole number from ${minimum} to ${maximum}`)
    }
    return typeof value === 'boolean' ? value : this.#wrong(path, 'must be true or false')
  }

  #wrong(path: string, text: string): undefined {
    this.faults.add(path, text)
    return undefined
  }

  #members(
    schema: TSchema & { properties: Record<string, TSchema> },
    value: unknown,
    path: string,
  ) {
    if (!isJsonObject(value)) return this.#wrong(path, 'must be an object')
    const sent = membersOf(value)
    const { title = '' } = titleOf(schema)
    for (const [name, text] of Object.entries(refusedMembers[title] ?? {})) {
      const given = sent(name)
      if (isEmpty(given) || given === harmlessValues[title]?.[name]) continue
      this.refused.add(memberPath(path, name), text)
    }
    const entries = Object.entries(schema.properties).flatMap(([name, member]) => {
      const given = sent(name)
      if (given === undefined || given === null) return []
      const read = this.read(member, given, memberPath(path, name))
      return read === undefined ? [] : [[name, read] as const]
    })
    return Object.fromEntries(entries)
  }

  #map(
    schema: TSchema & { patternProperties: Record<string, TSchema> },
    value: unknown,
    path: string,
  ) {
    if (!isJsonObject(value)) return this.#wrong(path, 'must be an object')
    const entries = Object.entries(value)
    const most = limitOf(schema, 'maxProperties')
    if (entries.length > most) {
      return this.#wrong(path, `has ${entries.length} members, at most ${most} are possible`)
    }
    const item = present(Object.values(schema.patternProperties))
    // fromEntries defines members, so `__proto__` is a name like any other.
    return Object.fromEntries(
      entries.flatMap(([name, member]) => {
        if (member === null) return []
        const read = this.read(item, member, `${path}[${JSON.stringify(name.slice(0, 64))}]`)
        return read === undefined ? [] : [[name.toWellFormed(), read] as const]
      }),
    )
  }

  #list(schema: TSchema & { items: TSchema }, value: unknown, path: string) {
    if (!Array.isArray(value)) return this.#wrong(path, 'must be a list')
    const most = limitOf(schema, 'maxItems')
    if (value.length > most) {
      return this.#wrong(path, `has ${value.length} entries, at most ${most} are possible`)
    }
    return value.flatMap((member: unknown, index) => {
      if (member === null) return []
      const read = this.read(schema.items, member, `${path}[${index}]`)
      return read === undefined ? [] : [read]
    })
  }

  /** Plain JSON as it is. */
  #any(value: unknown, path: string, depth: number): unknown {
    this.#configValues += 1
    if (depth > configDepthMax) {
      return this.#wrong(path, `is nested deeper than ${configDepthMax}`)
    }
    if (this.#configValues > configValuesMax) {
      const isFirst = this.#configValues === configValuesMax + 1
      return isFirst
        ? this.#wrong(path, `and the Config before it come to over ${configValuesMax} values`)
        : undefined
    }
    if (typeof value === 'string') return value.toWellFormed()
    if (Array.isArray(value)) {
      return value.map((item: unknown) => this.#any(item, path, depth + 1))
    }
    if (isJsonObject(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [
          name.toWellFormed(),
          this.#any(member, memberPath(path, name.slice(0, 64)), depth + 1),
        ]),
      )
    }
    return typeof value === 'number' || typeof value === 'boolean' || value === null
      ? value
      : this.#wrong(path, 'must be JSON, with numbers of at most 53 bits')
  }
}

/** By its exact name, else in any letter case. */
function membersOf(value: Readonly<Record<string, unknown>>): (name: string) => unknown {
  const lower = new Map(Object.entries(value).map(([name, member]) => [name.toLowerCase(), member]))
  return (name) => (Object.hasOwn(value, name) ? value[name] : lower.get(name.toLowerCase()))
}

/** What clients in Go send for a member that is not set. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) {
    return true
  }
  if (Array.isArray(value)) return value.length === 0
  return isJsonObject(value) && Object.values(value).every(isEmpty)
}

/** Every schema of a job says its bounds; the type of one tells nothing of them. */
function limitOf(schema: TSchema, name: string): number {
  const value: unknown = Reflect.get(schema, name)
  return typeof value === 'number' ? value : Infinity
}

/** The schema that is not null, or the only one. */
function present(schemas: readonly TSchema[]): TSchema {
  return schemas.find((schema) => !Type.IsNull(schema)) ?? Type.Unknown()
}

/** A schema whose members may all be absent; with `nulls`, or null. */
export function partOf(schema: TSchema, { nulls }: { readonly nulls: boolean }): TSchema {
  if (Type.IsUnion(schema)) return partOf(present(schema.anyOf), { nulls })
  if (Type.IsRecord(schema)) {
    const value = partOf(present(Object.values(schema.patternProperties)), { nulls })
    return Type.Record(Type.String(), value)
  }
  if (Type.IsArray(schema)) return Type.Array(partOf(schema.items, { nulls }))
  if (!Type.IsObject(schema)) return schema
  const members = Object.entries(schema.properties).map(([name, member]) => {
    const part = partOf(member, { nulls })
    return [name, Type.Optional(nulls ? Type.Union([part, Type.Null()]) : part)] as const
  })
  return Type.Object(Object.fromEntries(members), {
    additionalProperties: false,
    ...titleOf(schema),
  })
}

function titleOf(schema: TSchema): { readonly title?: string } {
  return 'title' in schema && typeof schema.title === 'string' ? { title: schema.title } : {}
}
