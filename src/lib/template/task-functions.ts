/**
 * What a template of a task may call besides Go's own functions: data of the cluster, the task's environment, and work on texts.
 * In the names and the order of arguments that Nomad's users know.
 */
import { parseBoolean } from '../boolean.ts'
import { isObject, lineOfJson, parseJson, printJson, type Json } from '../exact-json.ts'
import { refuse } from './fault.ts'
import { functions, sizeOf, type Functions, type TemplateFunction } from './functions.ts'
import { kind, plain } from './printf.ts'

/** What a template is made of. */
export type Dependency =
  | { readonly type: 'key'; readonly path: string }
  /** All keys below a folder; '' or with a slash at its end. */
  | { readonly type: 'keys'; readonly path: string }
  | { readonly type: 'variable'; readonly path: string }
  | { readonly type: 'service'; readonly path: string }

/** `isLiteral`: the template has the path as it is; one that was computed may be a secret. */
type Look = (dependency: Dependency, isLiteral: boolean) => Json

export type TaskData = {
  /** Null: it is not there. A template that needs it cannot be rendered then. */
  readonly needed: Look
  /** The same, where a template can do without. */
  readonly wanted: Look
  /** Null: there is no such variable. */
  readonly env: (name: string) => string | null
}

/** Of a text that is made of others. */
const lengthMax = 1024 * 1024

/** For a look at a template before there is any data. */
export const noData: TaskData = { needed: () => null, wanted: () => null, env: () => null }

export function taskFunctions(data: TaskData): Functions {
  const { json: _json, ...ofGo } = functions
  return { __proto__: null as never, ...ofGo, ...ofCluster(data), ...ofTexts }
}

/** That `nomadVar` gave. */
const variables = new WeakSet<object>()

function noted(items: Json): Json {
  if (isObject(items)) variables.add(items)
  return items
}

/** `.Tuples`, `.Keys` and `.Values` of a variable, in the order of its keys, and `.Value` of an item, which is its text. */
export function memberOf(value: Json, name: string): Json | undefined {
  if (typeof value === 'string') return name === 'Value' ? value : undefined
  if (!isObject(value) || !variables.has(value)) return undefined
  if (name !== 'Tuples' && name !== 'Keys' && name !== 'Values') return undefined
  const items = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  switch (name) {
    case 'Tuples':
      return items.map(([K, V]) => ({ K, V }))
    case 'Keys':
      return items.map(([key]) => key)
    case 'Values':
      return items.map(([, item]) => item)
  }
}

function ofCluster({ needed, wanted, env }: TaskData): Functions {
  const key = (value: Json | undefined): Dependency => ({ type: 'key', path: named(value) })
  const variable = (value: Json | undefined): Dependency => ({
    type: 'variable',
    path: named(value),
  })
  const pairsBelow = (isShown: (key: string) => boolean): TemplateFunction => ({
    ...one,
    looksAtFew,
    run: ([folder], spend, isLiteral) => {
      const pairs = listOf(wanted({ type: 'keys', path: folderOf(text(folder)) }, isLiteral))
      spend(pairs.length)
      return pairs.filter((pair) => isShown(textOf(pair, 'Key')))
    },
  })
  const service: TemplateFunction['run'] = ([value], spend, isLiteral) => {
    const [, tag, name = ''] = /^(?:([^.]*)\.)?([^.]*)$/.exec(named(value)) ?? []
    if (name === '' || /[@|]/.test(name)) {
      return refuse('service takes NAME or TAG.NAME: there are no other forms of it')
    }
    const found = listOf(wanted({ type: 'service', path: name }, isLiteral))
    spend(found.length)
    return tag === undefined ? found : found.filter((one) => hasTag(one, tag))
  }
  const set = (name: Json | undefined): string | null => env(named(name))
  return {
    key: { ...one, looksAtFew, run: ([path], _, isLiteral) => needed(key(path), isLiteral) },
    keyExists: {
      ...one,
      looksAtFew,
      run: ([path], _, isLiteral) => wanted(key(path), isLiteral) !== null,
    },
    keyOrDefault: {
      ...two,
      looksAtFew,
      run: ([path, other], _, isLiteral) => {
        const found = wanted(key(path), isLiteral)
        return found === null || found === '' ? text(other) : found
      },
    },
    ls: pairsBelow((key) => !key.includes('/')),
    // Without those that stand for folders.
    tree: pairsBelow((key) => !key.endsWith('/')),
    nomadVar: {
      ...one,
      looksAtFew,
      run: ([path], _, isLiteral) => noted(needed(variable(path), isLiteral)),
    },
    nomadVarExists: {
      ...one,
      looksAtFew,
      run: ([path], spend, isLiteral) => {
        const items = wanted(variable(path), isLiteral)
        if (isObject(items)) spend(sizeOf(items))
        return items !== null
      },
    },
    service: { ...one, looksAtFew, run: service },
    nomadService: { ...one, looksAtFew, run: service },
    env: { ...one, looksAtFew, run: ([name]) => set(name) ?? '' },
    envOrDefault: { ...two, looksAtFew, run: ([name, other]) => set(name) ?? text(other) },
    mustEnv: {
      ...one,
      looksAtFew,
      run: ([name], _, isLiteral) => {
        const shown = isLiteral ? text(name) : 'of the computed name that mustEnv was given'
        return set(name) ?? refuse(`the task has no environment variable ${shown}`)
      },
    },
  }
}

const looksAtFew = true
const one = { argsMin: 1, argsMax: 1 }
const two = { argsMin: 2, argsMax: 2 }
const three = { argsMin: 3, argsMax: 3 }

const ofTexts: Functions = {
  toLower: { ...one, run: ([value]) => text(value).toLowerCase() },
  toUpper: { ...one, run: ([value]) => text(value).toUpperCase() },
  trimSpace: { ...one, run: ([value]) => text(value).trim() },
  trimPrefix: {
    ...two,
    run: ([start, value]) => {
      const whole = text(value)
      return whole.startsWith(text(start)) ? whole.slice(text(start).length) : whole
    },
  },
  trimSuffix: {
    ...two,
    run: ([end, value]) => {
      const whole = text(value)
      return whole.endsWith(text(end)) ? whole.slice(0, whole.length - text(end).length) : whole
    },
  },
  replaceAll: {
    ...three,
    run: ([from, to, value]) => {
      if (text(from) === '') return refuse('replaceAll needs a text to replace')
      return joined(text(value).split(text(from)), text(to))
    },
  },
  contains: {
    ...two,
    run: ([part, value]) =>
      typeof value === 'string'
        ? value.includes(text(part))
        : listOf(value).some((member) => plain(member) === plain(part ?? null)),
  },
  split: {
    ...two,
    run: ([by, value]) => {
      const whole = text(value).trim()
      return whole === '' ? [] : whole.split(text(by))
    },
  },
  join: { ...two, run: ([by, value]) => joined(listOf(value).map(plain), text(by)) },
  indent: {
    ...two,
    run: ([count, value]) => {
      const blanks = ' '.repeat(Math.min(100, Math.max(0, Number(count))))
      const lines = text(value).split('\n')
      return joined(
        lines.map((line) => (line === '' ? '' : blanks + line)),
        '\n',
      )
    },
  },
  parseBool: { ...one, run: ([value]) => parseBool(text(value)) },
  parseInt: { ...one, run: ([value]) => parseInt(text(value)) },
  parseFloat: { ...one, run: ([value]) => parseFloat(text(value)) },
  parseJSON: { ...one, run: ([value]) => parsed(text(value)) },
  toJSON: { ...one, run: ([value]) => lineOfJson(value ?? null) },
  toJSONPretty: { ...one, run: ([value]) => printJson(value ?? null).trimEnd() },
  base64Encode: { ...one, run: ([value]) => Buffer.from(text(value)).toString('base64') },
  base64Decode: { ...one, run: ([value]) => decoded(text(value), 'base64') },
  base64URLEncode: { ...one, run: ([value]) => Buffer.from(text(value)).toString('base64url') },
  base64URLDecode: { ...one, run: ([value]) => decoded(text(value), 'base64url') },
}

function text(value: Json | undefined): string {
  if (typeof value === 'string') return value
  return refuse(`a text is needed, not a ${kind(value ?? null)}`)
}

function named(value: Json | undefined): string {
  return text(value) === '' ? refuse('a name or a path is needed') : text(value)
}

function folderOf(path: string): string {
  return path === '' || path.endsWith('/') ? path : `${path}/`
}

function listOf(value: Json | undefined): readonly Json[] {
  if (value === null || value === undefined) return []
  return Array.isArray(value) ? value : refuse(`a list is needed, not a ${kind(value)}`)
}

function textOf(value: Json, name: string): string {
  const member = isObject(value) ? value[name] : null
  return typeof member === 'string' ? member : ''
}

function hasTag(service: Json, tag: string): boolean {
  return isObject(service) && listOf(service['Tags']).includes(tag)
}

function joined(parts: readonly string[], by: string): string {
  const length = parts.reduce((sum, part) => sum + part.length, by.length * parts.length)
  return length > lengthMax ? refuse(`a text is longer than ${lengthMax} letters`) : parts.join(by)
}

function parseBool(value: string): boolean {
  if (value === '') return false
  return parseBoolean(value) ?? refuse('parseBool needs true or false')
}

function parseInt(value: string): bigint {
  if (value === '') return 0n
  return /^[+-]?\d{1,19}$/.test(value)
    ? BigInt(value.replace('+', ''))
    : refuse('parseInt needs the digits of a whole number')
}

function parseFloat(value: string): number {
  if (value === '') return 0
  const isDecimal = /^[+-]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,3})?$/.test(
    value,
  )
  const number = isDecimal ? Number(value) : Number.NaN
  return Number.isFinite(number) ? number : refuse('parseFloat needs a number, as in 1.5')
}

/** As other functions do with no text, it makes what is empty. */
function parsed(value: string): Json {
  if (value === '') return {}
  try {
    return parseJson(value, 'the text')
  } catch {
    return refuse('parseJSON needs valid JSON')
  }
}

function decoded(value: string, encoding: 'base64' | 'base64url'): string {
  const isEncoded = /^[\w+/-]*={0,2}\s*$/.test(value)
  return isEncoded ? Buffer.from(value, encoding).toString('utf8') : refuse('it is not base64')
}
