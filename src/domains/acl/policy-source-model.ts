/**
 * The text of a policy, HCL or JSON, as blocks of one shape that know where they were written: a line of HCL, a path of
 * JSON. What the blocks mean is `policy-model.ts`.
 */
import { MusterError, textOf } from '../../lib/errors.ts'
import { isJsonObject } from '../../lib/json-object.ts'
import { doubledMember } from '../../lib/strict-json.ts'
import { parseHcl, type HclBlock, type HclBody, type HclValue } from '../../lib/hcl.ts'

export const policyBytesMax = 64 * 1024

/** JSON is walked by recursion, and a policy needs five levels. */
const depthMax = 16

const pathShownMax = 256

export type SourceBlock = {
  readonly kind: string
  readonly labels: readonly string[]
  readonly body: SourceBody
  readonly where: string
}

export type SourceValue = {
  /** Text, or a list of texts; null: something else. */
  readonly value: string | readonly string[] | null
  readonly where: string
}

export type SourceBody = {
  readonly values: ReadonlyMap<string, SourceValue>
  readonly blocks: readonly SourceBlock[]
}

/** Throws `invalid_argument` with the place, `too_large` over `policyBytesMax`. */
export function parsePolicySource(text: string): SourceBody {
  const bytes = Buffer.byteLength(text)
  if (bytes > policyBytesMax) {
    throw new MusterError(
      'too_large',
      `a policy has at most ${policyBytesMax} bytes, this one has ${bytes}`,
    )
  }
  if (!isJson(text)) return bodyOfHcl(parseHcl(text, 'policy'))
  return bodyOfObject(entriesOfJson(parseJson(text)), '', 0)
}

function isJson(text: string): boolean {
  return text.trimStart().startsWith('{')
}

/**
 * Of a policy that `parsePolicySource` takes and that is to be stored: JSON keeps the last of two members with one name, so a rule
 * would be lost. HCL refuses that by itself. Throws `invalid_argument`. What is stored already is read as ever.
 */
export function checkNothingTwice(text: string): void {
  const doubled = isJson(text) ? doubledMember(text) : null
  if (doubled === null) return
  refuse(
    doubled.slice(0, pathShownMax),
    'is given twice, and only the last one would count: write one of them, or several blocks of a kind as a list',
  )
}

export function refuse(where: string, text: string): never {
  throw new MusterError('invalid_argument', `policy, ${where}: ${text}`)
}

function parseJson(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value)) return value
  } catch (error) {
    throw new MusterError('invalid_argument', `policy: not valid JSON: ${textOf(error)}`)
  }
  throw new MusterError('invalid_argument', 'policy: JSON must be an object { … }')
}

function bodyOfHcl({ attributes, blocks }: HclBody): SourceBody {
  const values = new Map<string, SourceValue>()
  const all: SourceBlock[] = blocks.map(blockOfHcl)
  for (const [name, value] of attributes) {
    const where = `line ${value.position.line}`
    if (value.type === 'object') all.push(...blocksOf(name, plain(value), where, 0))
    else values.set(name, { value: valueOf(plain(value)), where })
  }
  return { values, blocks: all }
}

function blockOfHcl({ name, labels, body, position }: HclBlock): SourceBlock {
  return { kind: name, labels, body: bodyOfHcl(body), where: `line ${position.line}` }
}

/** Maps stand for objects here, so that no name in a policy can touch a prototype. */
type Plain = string | number | boolean | null | readonly Plain[] | ReadonlyMap<string, Plain>

function plain(value: HclValue): Plain {
  switch (value.type) {
    case 'object':
      return new Map([...value.entries].map(([key, entry]) => [key, plain(entry)]))
    case 'list':
      return value.items.map(plain)
    case 'null':
      return null
    default:
      return value.value
  }
}

function entriesOfJson(value: object): ReadonlyMap<string, Plain> {
  return new Map(Object.entries(value).map(([key, entry]) => [key, plainOfJson(entry, 1)]))
}

function plainOfJson(value: unknown, depth: number): Plain {
  if (depth > depthMax) {
    throw new MusterError('invalid_argument', `policy: nested deeper than ${depthMax} levels`)
  }
  if (Array.isArray(value)) return value.map((item) => plainOfJson(item, depth + 1))
  if (isJsonObject(value)) {
    return new Map(
      Object.entries(value).map(([key, entry]) => [key, plainOfJson(entry, depth + 1)]),
    )
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : null
}

function bodyOfObject(
  entries: ReadonlyMap<string, Plain>,
  path: string,
  depth: number,
): SourceBody {
  const values = new Map<string, SourceValue>()
  const blocks: SourceBlock[] = []
  for (const [name, value] of entries) {
    const where = path === '' ? name : `${path}.${name}`
    if (
      value instanceof Map ||
      (Array.isArray(value) && value.some((item) => item instanceof Map))
    ) {
      blocks.push(...blocksOf(name, value, where, depth))
    } else {
      values.set(name, { value: valueOf(value), where })
    }
  }
  return { values, blocks }
}

/**
 * `{ "app/": { "policy": "read" } }` are blocks with labels, `{ "policy": "read" }` is one without: a label stands for an
 * object, a member of a block for something else.
 */
function blocksOf(kind: string, value: Plain, where: string, depth: number): SourceBlock[] {
  if (Array.isArray(value)) return value.flatMap((item) => blocksOf(kind, item, where, depth + 1))
  if (!(value instanceof Map)) return refuse(where, `${kind} must be an object, or a list of them`)
  const entries = value as ReadonlyMap<string, Plain>
  const labelled = entries.size > 0 && kind !== 'variables' && [...entries.values()].every(isBlock)
  if (!labelled) return [{ kind, labels: [], body: bodyOfObject(entries, where, depth + 1), where }]
  return [...entries].flatMap(([label, body]) => {
    const at = `${where}.${label}`
    const bodies = Array.isArray(body) ? body : [body]
    return bodies.map((one) => ({
      kind,
      labels: [label],
      body: bodyOfObject(one as ReadonlyMap<string, Plain>, at, depth + 1),
      where: at,
    }))
  })
}

function isBlock(value: Plain): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((item) => item instanceof Map)
  return value instanceof Map
}

function valueOf(value: Plain): SourceValue['value'] {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  return null
}
