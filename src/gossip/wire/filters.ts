/** The filters of a query: who is to answer it. All of them must hold. */
import { assertNever } from '../../lib/assert.ts'
import { Fields, nameFrom } from './fields.ts'
import { isMap, readValue, type ReadBounds } from './msgpack.ts'
import { Writer } from './msgpack-writer.ts'

const kind = { nodes: 0, tag: 1 } as const
const textBytesMax = 1024
/** Expressions of one query; each may cost its bound of work. */
export const patternsMax = 8
const bounds: ReadBounds = { valuesMax: 4096, stringBytesMax: textBytesMax }

export type QueryFilter =
  /** Members of these names. */
  | { readonly type: 'nodes'; readonly names: readonly string[] }
  /** Members whose tag, empty if they have none, matches a regular expression anywhere. */
  | { readonly type: 'tag'; readonly tag: string; readonly pattern: string }

export function encodeFilter(filter: QueryFilter): Uint8Array {
  const writer = new Writer()
  switch (filter.type) {
    case 'nodes':
      writer.byte(kind.nodes).array(filter.names.length)
      for (const name of filter.names) writer.text(name)
      break
    case 'tag':
      writer.byte(kind.tag).map(2)
      writer.text('Expr').text(filter.pattern)
      writer.text('Tag').text(filter.tag)
      break
    default:
      assertNever(filter)
  }
  return writer.finish()
}

/** Null for bytes that are no filter, or one of a kind not known here. */
export function decodeFilter(bytes: Uint8Array): QueryFilter | null {
  const read = readValue(bytes, 1, bounds)
  if (read.type !== 'value') return null
  const { value } = read
  if (bytes[0] === kind.nodes && Array.isArray(value)) {
    const names = value.map(nameFrom)
    return names.every((name) => name !== null) ? { type: 'nodes', names } : null
  }
  if (bytes[0] !== kind.tag || !isMap(value)) return null
  const fields = new Fields(value)
  const tag = fields.text('Tag', textBytesMax)
  const pattern = fields.text('Expr', textBytesMax)
  return fields.valid ? { type: 'tag', tag, pattern } : null
}

/** A filter that is not understood matches no member. `test` may throw for a pattern it refuses. */
export function passesFilters(
  filters: readonly Uint8Array[],
  member: { readonly name: string; readonly tags: ReadonlyMap<string, string> },
  test: (pattern: string, text: string) => boolean,
): boolean {
  let patterns = 0
  return filters.every((bytes) => {
    const filter = decodeFilter(bytes)
    if (filter === null) return false
    if (filter.type === 'nodes') return filter.names.includes(member.name)
    patterns += 1
    if (patterns > patternsMax) return false
    try {
      return test(filter.pattern, member.tags.get(filter.tag) ?? '')
    } catch {
      return false
    }
  })
}
