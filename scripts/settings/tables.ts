/**
 * Tables of configuration keys in `docs/`, made of what the schema says of each. A page has them between `<!-- settings -->`, or
 * `<!-- settings: ports, limits.http -->` for the keys that begin so, and `<!-- end of settings -->`.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TSchema } from 'typebox'
import { fileSchema } from '../../src/process/config-schema.ts'
import { formatted } from '../check/formatted.ts'
import { withFunctions } from './functions.ts'

export type Setting = { readonly key: string; readonly usual: string; readonly about: string }

const place = /(<!-- settings(?:: ([^>]*))? -->\n)[^]*?(\n<!-- end of settings -->)/g

const docs = fileURLToPath(new URL('../../docs/', import.meta.url))

/** Pages that may have some. */
export async function pages(): Promise<readonly string[]> {
  const names = (await readdir(docs)).filter((name) => name.endsWith('.md'))
  return names.toSorted().map((name) => join(docs, name))
}

/** The page with its tables as the schema and the functions have them, as the formatter writes it. */
export async function withTables(page: string, file: string): Promise<string> {
  const written = withFunctions(page).replaceAll(
    place,
    (_, begin: string, fronts: string | undefined, end: string) =>
      `${begin}\n${tableOf(fronts?.split(',').map((front) => front.trim()) ?? [])}${end}`,
  )
  return formatted(file, written)
}

function tableOf(fronts: readonly string[]): string {
  const isWanted = ({ key }: Setting) =>
    fronts.length === 0 || fronts.some((front) => key.startsWith(front))
  const blocks = new Set(fronts.map((front) => front.split('.')[0] ?? ''))
  const lines = settingsOf(fileSchema, '', blocks)
    .filter(isWanted)
    .map(({ key, usual, about }) => `| \`${key}\` | ${usual} | ${about} |`)
  return ['| key | default | meaning |', '| --- | --- | --- |', ...lines, ''].join('\n')
}

/** In the order of the schema. A block that says what it is about is one row, but for those of `opened`. */
export function settingsOf(
  schema: TSchema,
  front = '',
  opened: ReadonlySet<string> = new Set(),
): readonly Setting[] {
  return [...propertiesOf(schema)].flatMap(([name, member]) => {
    const key = front + name
    const about = textOf(member, 'about')
    const isOpened = about === null || opened.has(key)
    const inner = isOpened ? settingsOf(itemsOf(member), `${key}.`, opened) : []
    if (inner.length > 0) return inner
    return [{ key, usual: usualOf(member), about: about ?? '' }]
  })
}

function usualOf(schema: TSchema): string {
  const shown = textOf(schema, 'shown')
  if (shown !== null) return shown
  if (!('default' in schema)) return 'none'
  return `\`${JSON.stringify(schema.default)}\``
}

function textOf(schema: TSchema, name: 'about' | 'shown'): string | null {
  const text: unknown = Reflect.get(schema, name)
  return typeof text === 'string' ? text : null
}

function itemsOf(schema: TSchema): TSchema {
  return 'items' in schema && typeof schema.items === 'object' ? (schema.items ?? schema) : schema
}

function propertiesOf(schema: TSchema): readonly (readonly [string, TSchema])[] {
  const properties: unknown = Reflect.get(schema, 'properties')
  return typeof properties === 'object' && properties !== null ? Object.entries(properties) : []
}
