/**
 * Configuration files as one tree that remembers where each value was written. JSON and HCL become the same shape,
 * later files are laid over earlier ones, and the checker can name file and line.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MusterError, textOf } from '../lib/errors.ts'
import {
  parseHcl,
  type HclBody,
  type HclBlock,
  type HclPosition,
  type HclValue,
} from '../lib/hcl.ts'

export const CONFIG_FILE_BYTES_MAX = 1024 * 1024
export const CONFIG_FILES_MAX = 100
const DEPTH_MAX = 32

/**
 * Blocks that may stand several times, each for a thing of its own, also over several files; and the one label that they
 * may bear, for people are used to write it, or null. Services and checks have the singular and the plural name, as in
 * Consul's files.
 */
const repeatedBlocks: ReadonlyMap<string, string | null> = new Map([
  ['listener', 'tcp'],
  ['service', null],
  ['services', null],
  ['check', null],
  ['checks', null],
])

/** Blocks whose label is a name of the user's own: below it is what the block holds. */
const namedBlocks: ReadonlySet<string> = new Set(['host_volume', 'plugin'])

/** Where a value was written; the line counts from 1 and is null where the format does not tell. */
export type Source = { readonly file: string; readonly line: number | null }

export type ConfigNode =
  | {
      readonly type: 'scalar'
      readonly value: string | number | boolean | null
      readonly source: Source
    }
  | { readonly type: 'list'; readonly items: readonly ConfigNode[]; readonly source: Source }
  | {
      readonly type: 'map'
      readonly entries: ReadonlyMap<string, ConfigNode>
      readonly source: Source
    }

/**
 * The files that `path` stands for: itself, or the `*.hcl` and `*.json` of the folder in byte order.
 * Throws `invalid_argument` if there is nothing to read.
 */
export async function configFiles(path: string): Promise<readonly string[]> {
  let folder: boolean
  try {
    folder = (await stat(path)).isDirectory()
  } catch (error) {
    throw new MusterError('invalid_argument', `${path}: cannot be read: ${textOf(error)}`, {
      cause: error,
    })
  }
  if (!folder) return [path]
  const names = (await readdir(path))
    .filter((name) => /\.(hcl|json)$/.test(name) && !name.startsWith('.'))
    .map((name) => Buffer.from(name))
    .sort((left, right) => Buffer.compare(left, right))
    .map((name) => name.toString())
  if (names.length === 0) {
    throw new MusterError('invalid_argument', `${path}: no *.hcl or *.json file in this folder`)
  }
  if (names.length > CONFIG_FILES_MAX) {
    throw new MusterError(
      'invalid_argument',
      `${path}: ${names.length} configuration files; at most ${CONFIG_FILES_MAX} are read`,
    )
  }
  return names.map((name) => join(path, name))
}

/** Throws `invalid_argument` with file, and line and column where they are known. */
export async function readConfigFile(file: string): Promise<ConfigNode> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (error) {
    throw new MusterError('invalid_argument', `${file}: cannot be read: ${textOf(error)}`, {
      cause: error,
    })
  }
  if (bytes.length > CONFIG_FILE_BYTES_MAX) {
    throw new MusterError(
      'invalid_argument',
      `${file}: ${bytes.length} bytes; a configuration file has at most ${CONFIG_FILE_BYTES_MAX}`,
    )
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new MusterError('invalid_argument', `${file}: the file is not valid UTF-8`)
  }
  return parseConfigText(text, file)
}

/** JSON where the name ends in `.json` or the text starts with a brace, else HCL. */
export function parseConfigText(text: string, file: string): ConfigNode {
  if (file.endsWith('.json') || (!file.endsWith('.hcl') && /^\s*\{/.test(text))) {
    return parseJsonText(text, file)
  }
  return bodyNode(parseHcl(text, file), { file, line: 1 })
}

function parseJsonText(text: string, file: string): ConfigNode {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const reason = textOf(error).replaceAll(/\s+/g, ' ')
    throw new MusterError('invalid_argument', `${file}: not valid JSON: ${reason}`, {
      cause: error,
    })
  }
  const root = jsonNode(value, { file, line: null }, 0)
  if (root.type === 'map') return root
  throw new MusterError('invalid_argument', `${file}: a configuration is a JSON object { … }`)
}

function jsonNode(value: unknown, source: Source, depth: number): ConfigNode {
  if (depth > DEPTH_MAX) {
    throw new MusterError(
      'invalid_argument',
      `${source.file}: values nest deeper than ${DEPTH_MAX}`,
    )
  }
  if (Array.isArray(value)) {
    return { type: 'list', items: value.map((item) => jsonNode(item, source, depth + 1)), source }
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(
      ([key, item]) => [key, asRepeated(key, jsonNode(item, source, depth + 1))] as const,
    )
    return { type: 'map', entries: new Map(entries), source }
  }
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return { type: 'scalar', value, source }
  }
  return { type: 'scalar', value: null, source }
}

/** Of a repeated block a single object is a list of one; an object whose only key is the label is what is below it. */
function asRepeated(name: string, node: ConfigNode): ConfigNode {
  const label = repeatedBlocks.get(name)
  if (label === undefined || node.type === 'scalar') return node
  const items = node.type === 'map' ? [node] : node.items
  if (label === null) return { type: 'list', items, source: node.source }
  const bare = items.map((item) => {
    const labelled = item.type === 'map' && item.entries.size === 1 ? item.entries.get(label) : null
    return labelled ?? item
  })
  return { type: 'list', items: bare, source: node.source }
}

/** Blocks become maps under their name; several blocks of one name are laid over each other, or make a list. */
function bodyNode(body: HclBody, source: Source): ConfigNode {
  const entries = new Map<string, ConfigNode>()
  for (const [name, value] of body.attributes) {
    entries.set(name, asRepeated(name, hclNode(value, source.file)))
  }
  for (const block of body.blocks) {
    refuseLabels(block, source.file)
    const body = bodyNode(block.body, at(source.file, block.position))
    const node = asRepeated(block.name, named(block, body))
    const earlier = entries.get(block.name)
    entries.set(block.name, earlier === undefined ? node : joined(block.name, earlier, node))
  }
  return { type: 'map', entries, source }
}

function named({ name, labels }: HclBlock, body: ConfigNode): ConfigNode {
  const [label] = namedBlocks.has(name) ? labels : []
  if (label === undefined) return body
  return { type: 'map', entries: new Map([[label, body]]), source: body.source }
}

function refuseLabels(block: HclBlock, file: string): void {
  if (namedBlocks.has(block.name) && block.labels.length < 2) return
  const allowed = repeatedBlocks.get(block.name)
  const label = block.labels.find((given, position) => position > 0 || given !== allowed)
  if (label === undefined) return
  const wanted =
    allowed === undefined || allowed === null
      ? 'no label'
      : `no label but ${JSON.stringify(allowed)}`
  throw new MusterError(
    'invalid_argument',
    `${file}:${block.position.line}: the block ${block.name} takes ${wanted}; found ${JSON.stringify(label)}`,
  )
}

function hclNode(value: HclValue, file: string): ConfigNode {
  const source = at(file, value.position)
  switch (value.type) {
    case 'list':
      return { type: 'list', items: value.items.map((item) => hclNode(item, file)), source }
    case 'object': {
      const entries = [...value.entries].map(
        ([key, item]) => [key, asRepeated(key, hclNode(item, file))] as const,
      )
      return { type: 'map', entries: new Map(entries), source }
    }
    case 'null':
      return { type: 'scalar', value: null, source }
    case 'string':
    case 'number':
    case 'boolean':
      return { type: 'scalar', value: value.value, source }
  }
}

function at(file: string, position: HclPosition): Source {
  return { file, line: position.line }
}

/** `over` wins; maps are joined key by key, lists are replaced whole, but for those of repeated blocks. */
export function overlay(base: ConfigNode, over: ConfigNode): ConfigNode {
  if (base.type !== 'map' || over.type !== 'map') return over
  const entries = new Map(base.entries)
  for (const [key, node] of over.entries) {
    const earlier = entries.get(key)
    entries.set(key, earlier === undefined ? node : joined(key, earlier, node))
  }
  return { type: 'map', entries, source: over.source }
}

function joined(key: string, base: ConfigNode, over: ConfigNode): ConfigNode {
  if (repeatedBlocks.has(key) && base.type === 'list' && over.type === 'list') {
    return { type: 'list', items: [...base.items, ...over.items], source: over.source }
  }
  return overlay(base, over)
}

export function emptyTree(): ConfigNode {
  return { type: 'map', entries: new Map(), source: { file: 'configuration', line: null } }
}
