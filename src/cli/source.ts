/** What a person hands a command beside its words: a file, or standard input, as text or as a specification. */
import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { parseHcl, type HclBody, type HclValue } from '../lib/hcl.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { isObject, parseJson, type Json, type JsonObject } from '../lib/exact-json.ts'
import { gather } from '../lib/gather.ts'
import { misused } from './flags.ts'
import type { Terminal } from './verb.ts'

/** A specification or a value; servers take less. */
const sourceBytesMax = 1024 * 1024

/** Standard input can be read once. */
export class Sources {
  readonly #terminal: Terminal
  #inputTaken = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /** The text of a file, or of standard input for `-`, which `what` is read from. */
  async text(path: string, what: string): Promise<string> {
    const bytes = await this.bytes(path, what)
    if (!isUtf8(bytes)) {
      throw new MusterError(
        'invalid_argument',
        `${what} is not UTF-8 text; encode it, as in base64`,
      )
    }
    return bytes.toString('utf8')
  }

  /** As `text`, whatever it holds. */
  async bytes(path: string, what: string): Promise<Buffer> {
    if (path === '-') {
      if (this.#inputTaken)
        misused(`${what}: standard input is taken already; only one - is possible`)
      this.#inputTaken = true
      if (this.#terminal.inIsTerminal) this.#terminal.err(`Type ${what}, then Ctrl-D:\n`)
    }
    return read(path === '-' ? this.#terminal.input() : createReadStream(path), what)
  }

  /** JSON when it begins with a brace, else HCL. */
  async specification(path: string): Promise<JsonObject> {
    const name = path === '-' ? 'standard input' : path
    const text = await this.text(path, name)
    if (!text.trimStart().startsWith('{')) return ofBody(parseHcl(text, name))
    const value = parseJson(text, name)
    if (isObject(value)) return value
    throw new MusterError('invalid_argument', `${name} must hold one object`)
  }
}

async function read(source: AsyncIterable<Uint8Array>, what: string): Promise<Buffer> {
  const bytes = await gather(source, sourceBytesMax).catch((error: unknown) => {
    throw new MusterError('invalid_argument', `${what}: ${textOf(error)}`, { cause: error })
  })
  if (bytes === null) throw new MusterError('too_large', `${what} is over ${sourceBytesMax} bytes`)
  return bytes
}

/** A block is an object under its name; of blocks with one name a list. */
function ofBody(body: HclBody): JsonObject {
  const blocks = Map.groupBy(body.blocks, ({ name }) => name)
  return Object.fromEntries([
    ...[...body.attributes].map(([name, value]) => [name, ofValue(value)] as const),
    ...[...blocks].map(([name, all]) => {
      const objects = all.map((block) => ofBody(block.body))
      return [name, objects.length === 1 ? (objects[0] ?? {}) : objects] as const
    }),
  ])
}

function ofValue(value: HclValue): Json {
  switch (value.type) {
    case 'null':
      return null
    case 'list':
      return value.items.map(ofValue)
    case 'object':
      return Object.fromEntries([...value.entries].map(([name, member]) => [name, ofValue(member)]))
    default:
      return value.value
  }
}

/** A member under its name in the API or in lower case, as people write it in HCL. */
export function memberOf(spec: JsonObject, name: string): Json | undefined {
  const lower = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
  const found = [name, lower, name.toLowerCase()].find((key) => Object.hasOwn(spec, key))
  return found === undefined ? undefined : spec[found]
}

/** Undefined when it is absent or null. */
export function textMember(spec: JsonObject, name: string): string | undefined {
  const value = memberOf(spec, name)
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw new MusterError('invalid_argument', `${name} of the specification must be text`)
}

/** Texts by name; numbers and booleans as people write them without quotes. */
export function textsMember(
  spec: JsonObject,
  name: string,
): readonly (readonly [string, string])[] {
  const value = memberOf(spec, name)
  if (value === undefined || value === null) return []
  if (!isObject(value)) {
    throw new MusterError('invalid_argument', `${name} of the specification must be an object`)
  }
  return Object.entries(value).map(([key, member]) => {
    if (member === null || typeof member === 'object') {
      throw new MusterError('invalid_argument', `${name} of the specification must hold texts`)
    }
    return [key, String(member)]
  })
}
