/**
 * The check of a value against a schema. It is compiled when it is first asked: a server has hundreds of schemas, and needs a
 * few of them to start.
 */
import type { Static, TSchema } from 'typebox'
import { Build, Errors } from 'typebox/schema'

type Fault = {
  /** A JSON pointer, '' for the value itself. */
  readonly path: string
  /** `must be string` */
  readonly text: string
}

type Compiled = (value: unknown) => boolean

/** One for each schema, however many validators it has: to compile one takes milliseconds. */
const compiled = new WeakMap<TSchema, Compiled>()

export class Validator<const Schema extends TSchema> {
  readonly #schema: Schema
  #compiled: Compiled | null = null

  constructor(schema: Schema) {
    this.#schema = schema
  }

  accepts(value: unknown): value is Static<Schema> {
    this.#compiled ??= compiledOf(this.#schema)
    return this.#compiled(value)
  }

  /** What is wrong with a value that is not accepted; null: no more is known. */
  faultOf(value: unknown): Fault | null {
    const [, [first]] = Errors(this.#schema, value)
    return first === undefined ? null : { path: first.instancePath, text: first.message }
  }
}

function compiledOf(schema: TSchema): Compiled {
  let found = compiled.get(schema)
  if (found === undefined) {
    const check = Build(schema).Evaluate()
    // typebox keeps the text that it compiled: of all schemas that a server has used, some megabytes.
    Reflect.set(check, 'code', '')
    found = (value) => check.Check(value)
    compiled.set(schema, found)
  }
  return found
}
