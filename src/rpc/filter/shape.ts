/** What a filter may ask of a record: the names of its fields and the kind of each. */

/**
 * Values: `string`, `boolean`, `integer` and `unsigned` (a number or a bigint, compared exactly), `float`; a list is an array, a map an
 * object or a Map by strings, a record an object with known members. null and undefined are absent values of any kind.
 */
export type Shape =
  | 'string'
  | 'integer'
  | 'unsigned'
  | 'float'
  | 'boolean'
  | { readonly list: Shape }
  | { readonly map: Shape }
  | { readonly record: RecordShape }

export type RecordShape = Readonly<Record<string, Shape>>

export function describeShape(shape: Shape): string {
  if (shape === 'integer') return 'an integer'
  if (shape === 'unsigned') return 'an unsigned integer'
  if (typeof shape === 'string') return `a ${shape}`
  if ('list' in shape) return 'a list'
  return 'map' in shape ? 'a map' : 'a record'
}

/** The member that a part of a selector names, null when the shape has no such member. */
export function memberShape(shape: Shape, part: string): Shape | null {
  if (typeof shape === 'string') return null
  if ('record' in shape) {
    return Object.hasOwn(shape.record, part) ? (shape.record[part] ?? null) : null
  }
  if ('map' in shape) return shape.map
  return /^(?:0|[1-9]\d{0,8})$/.test(part) ? shape.list : null
}

/** The value behind one part of a selector; undefined when it is not there. */
export function memberOf(value: unknown, part: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if (value instanceof Map) return value.get(part)
  return Object.hasOwn(value, part) ? (value as Readonly<Record<string, unknown>>)[part] : undefined
}

export function mapKeys(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return value instanceof Map ? [...value.keys()].map(String) : Object.keys(value)
}
