/**
 * Compares a configuration tree with the schema and collects every problem, one line each, so that a person
 * mends a file in one go: which key, in which file and line, what would be right, and the nearest key for a typing error.
 */
import { Check as satisfies } from 'typebox/schema'
import type { TSchema } from 'typebox'
import type { ConfigNode, Source } from './config-tree.ts'

const VALUE_LENGTH_SHOWN = 60

export type Problem = { readonly key: string; readonly source: Source; readonly text: string }

/** Of a key that its schema takes: what is wrong with it beside others. */
export type Complain = (key: string, text: string) => void

/** `file:line: key: text`. Every report of problems shows these lines. */
export function problemLine(problem: Problem): string {
  const { file, line } = problem.source
  const place = line === null ? file : `${file}:${line}`
  return problem.key === ''
    ? `${place}: ${problem.text}`
    : `${place}: ${problem.key}: ${problem.text}`
}

/** The tree as plain data. It satisfies the schema exactly when no problem was added. */
export function checkTree(schema: TSchema, root: ConfigNode, problems: Problem[]): unknown {
  return checkNode(schema, root, [], { root: schema, problems })
}

type Check = { readonly root: TSchema; readonly problems: Problem[] }

function checkNode(
  schema: TSchema,
  node: ConfigNode,
  path: readonly string[],
  check: Check,
): unknown {
  const properties = propertiesOf(schema)
  if (properties !== null) return checkMap(properties, node, path, check)
  const items = itemsOf(schema)
  if (items !== null && node.type === 'list') {
    const values = node.items.map((item, index) =>
      checkNode(items, item, [...path, String(index)], check),
    )
    const itemsAreGood = values.every((value) => satisfies(items, value))
    if (itemsAreGood && !satisfies(schema, values)) refuse(schema, node, path, check)
    return values
  }
  const value = plain(node)
  if (!satisfies(schema, value)) refuse(schema, node, path, check)
  return value
}

function checkMap(
  properties: ReadonlyMap<string, TSchema>,
  node: ConfigNode,
  path: readonly string[],
  check: Check,
): unknown {
  if (node.type !== 'map') {
    const keys = [...properties.keys()].join(', ')
    add(check, path, node.source, `must be a block or an object with the keys ${keys}`)
    return undefined
  }
  const result: Record<string, unknown> = {}
  for (const [key, child] of node.entries) {
    const schema = properties.get(key)
    if (schema === undefined) {
      add(check, [...path, key], child.source, `unknown key${suggestion(key, path, check.root)}`)
    } else {
      result[key] = checkNode(schema, child, [...path, key], check)
    }
  }
  return result
}

function refuse(schema: TSchema, node: ConfigNode, path: readonly string[], check: Check): void {
  const wanted =
    'description' in schema && typeof schema.description === 'string'
      ? schema.description
      : 'something else'
  add(check, path, node.source, `must be ${wanted}, not ${shown(node)}`)
}

function add(check: Check, path: readonly string[], source: Source, text: string): void {
  check.problems.push({ key: path.join('.'), source, text })
}

function shown(node: ConfigNode): string {
  if (node.type === 'map') return 'an object'
  if (node.type === 'list') return 'a list'
  const text = JSON.stringify(node.value)
  return text.length > VALUE_LENGTH_SHOWN ? `${text.slice(0, VALUE_LENGTH_SHOWN)}…` : text
}

function plain(node: ConfigNode): unknown {
  if (node.type === 'scalar') return node.value
  if (node.type === 'list') return node.items.map(plain)
  return Object.fromEntries([...node.entries].map(([key, item]) => [key, plain(item)]))
}

/** Null: it is no object with keys of its own. */
export function propertiesOf(schema: TSchema): ReadonlyMap<string, TSchema> | null {
  if (!('properties' in schema)) return null
  const { properties } = schema
  if (typeof properties !== 'object' || properties === null) return null
  return new Map(Object.entries(properties))
}

function itemsOf(schema: TSchema): TSchema | null {
  if (!('items' in schema)) return null
  const { items } = schema
  return typeof items === 'object' && items !== null && !Array.isArray(items) ? items : null
}

/** Every key of the schema, as `server.raft.lease_reads`. */
function keyPaths(schema: TSchema, prefix: string): readonly string[] {
  const paths: string[] = []
  for (const [key, child] of propertiesOf(schema) ?? []) {
    paths.push(prefix + key, ...keyPaths(itemsOf(child) ?? child, `${prefix}${key}.`))
  }
  return paths
}

/** The nearest known key, if one is near enough to be what was meant; the same name elsewhere comes first. */
function suggestion(key: string, path: readonly string[], root: TSchema): string {
  const all = keyPaths(root, '')
  const elsewhere = all.find((known) => known === key || known.endsWith(`.${key}`))
  if (elsewhere !== undefined) return `; did you mean ${elsewhere}?`
  const here = path.length === 0 ? '' : `${path.join('.')}.`
  let best: { readonly known: string; readonly distance: number } | null = null
  for (const known of all) {
    const last = known.slice(known.lastIndexOf('.') + 1)
    // A key beside it is the likelier one when two are equally near.
    const away = known === here + last ? 0 : 0.5
    const distance = editDistance(key.toLowerCase(), last) + away
    if (best === null || distance < best.distance) best = { known, distance }
  }
  // Two letters swapped are a distance of 2, and in a very short key that is another word.
  const near = best !== null && best.distance <= (key.length < 4 ? 1.5 : 2.5)
  return best !== null && near ? `; did you mean ${best.known}?` : ''
}

/** Letters to insert, delete or replace to make `right` of `left` (Levenshtein). */
export function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let line = 1; line <= left.length; line += 1) {
    const next = [line]
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (left[line - 1] === right[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[right.length] ?? 0
}
