/**
 * Filter expressions of list requests: the go-bexpr language, whole (`parse.ts` has the grammar,
 * `compile.ts` checks an expression against the shape of the records and makes a predicate of it).
 *
 * Pure: knows neither HTTP nor a domain. What is wrong with an expression is said before the first record is looked at,
 * always as `invalid_argument`.
 */
import { LruMap } from '../../lib/lru-map.ts'
import { compileExpression, type Predicate } from './compile.ts'
import { parseFilter } from './parse.ts'
import type { RecordShape } from './shape.ts'

export type { RecordShape } from './shape.ts'

export type Filter = {
  readonly source: string
  matches(record: Readonly<Record<string, unknown>>): boolean
  /**
   * Upper estimate of the work per byte of a record's texts, at least 1. A scan of many records gives way to other
   * work after so many records that the sum of `weight` times record size stays small.
   */
  readonly weight: number
}

/** Compiles the expressions of one kind of record and remembers the ones used last. */
export class FilterCompiler {
  readonly #shape: RecordShape
  readonly #recent: LruMap<string, Filter>

  constructor(shape: RecordShape, options: { readonly entriesMax?: number } = {}) {
    this.#shape = shape
    this.#recent = new LruMap(options.entriesMax ?? 256)
  }

  /** null for an empty expression. Throws `invalid_argument`; the text says what is wrong and where. */
  compile(source: string): Filter | null {
    if (source === '') return null
    const known = this.#recent.get(source)
    if (known !== undefined) return known
    const filter = compileFilter(source, this.#shape)
    this.#recent.set(source, filter)
    return filter
  }
}

export function compileFilter(source: string, shape: RecordShape): Filter {
  const predicate: Predicate = compileExpression(parseFilter(source), shape)
  return {
    source,
    weight: predicate.weight,
    matches: (record) => predicate.matches([record]),
  }
}
