/**
 * How domains write down facts and reactions, and how their readers honour a fact while its reactions are not all written
 * (`reactions.ts`).
 */
import { Type } from 'typebox'
import type { Static, TSchema } from 'typebox'
import {
  proposable,
  type AnyReaction,
  type Fact,
  type Happening,
  type Key,
  type Mark,
  type Moment,
  type Reacted,
  type Reader,
  type Table,
} from './domain.ts'
import { Count, record } from './row-schema.ts'

/** The command version of the first programs that know marks: until all servers do, a cascade is one entry, however long. */
export const marksVersion = 4

/**
 * The command version from which on a fact concerns all rows that hang on it when it comes about. Before, one of a restored archive
 * whose creation has a higher index than the log was taken for a row that was made later.
 */
export const restoredRowsVersion = 5

/** The command version from which on an entry looks at a quarter of the rows that it looked at before. */
export const smallCascadesVersion = 9

/** Writes what marks stand for, `rowsMax` rows of it. Proposed by the leader for as long as its outcome says that there is more. */
export const continueCascades = proposable<
  { readonly rowsMax: number },
  { readonly open: boolean }
>('state.continueCascades')

/** Moments of one mark; with more, the last ones count as one. */
export const momentsMax = 1_024

const KeyParts = Type.Unsafe<Key>(Type.Array(Type.Union([Type.String(), Count]), { maxItems: 16 }))
const Moments = Type.Unsafe<readonly Moment[]>(
  Type.Array(record({ index: Count, nowMs: Count }), { minItems: 1, maxItems: momentsMax }),
)

/** `name`: `sessions.ended`. */
export function defineFact<Payload extends TSchema>(definition: {
  readonly name: string
  readonly payload: Payload
  readonly key: (payload: Static<Payload>) => Key
}): Fact<Static<Payload>> {
  const { name, payload, key } = definition
  return {
    name,
    key,
    marks: {
      name: `marks.${name}`,
      row: record({
        payload,
        moments: Moments,
        reaction: Type.String({ maxLength: 100 }),
        from: Type.Union([Type.Null(), KeyParts]),
      }),
      key: (mark: Mark<Static<Payload>>) => key(mark.payload),
    },
  }
}

export function happened<Payload>(fact: Fact<Payload>, payload: Payload): Happening {
  return { fact, payload }
}

/** See `AnyReaction`. */
export function defineReaction<Payload, Row>(reaction: {
  readonly name: string
  readonly sinceVersion?: number
  readonly on: Fact<Payload>
  readonly table: Table<Row>
  readonly index: string
  readonly prefix: (payload: Payload) => Key
  readonly since: ((row: Row) => number) | null
  readonly emits: readonly Fact<never>[]
  readonly react: (
    reader: Reader,
    moment: Moment,
    payload: Payload,
    rows: readonly Row[],
  ) => Reacted
}): AnyReaction {
  return reaction
}

/** One row while there is any mark, so that readers need not look for marks while there is none. */
export const openMarks: Table<OpenMarks> = {
  name: 'marks',
  row: record({ id: Type.Literal('open') }),
  key: ({ id }) => [id],
}
export type OpenMarks = { readonly id: 'open' }

/** Whether readers have to look for marks. One that did not has read enough to wake for the first of them. */
export function hasMarks(reader: Pick<Reader, 'get'>): boolean {
  return reader.get(openMarks, ['open']) !== undefined
}

export type MarkReader = Pick<Reader, 'get' | 'appliedIndex' | 'commandVersion'>

/** When a fact came about for a row that hangs on it since the entry `since`; null: there is no mark that concerns it. */
export function markedAt<Payload>(
  reader: MarkReader,
  fact: Fact<Payload>,
  key: Key,
  since: number,
): Moment | null {
  const mark = reader.get(fact.marks, key)
  return mark === undefined ? null : (momentOf(reader, mark.moments, since) ?? null)
}

/** The first of a mark's moments that concerns a row. */
export function momentOf(
  { appliedIndex, commandVersion }: MarkReader,
  moments: readonly Moment[],
  since: number,
): Moment | undefined {
  // From a restored archive: the row was there at all moments of this log.
  const isRestored = since > appliedIndex && commandVersion >= restoredRowsVersion
  return moments.find(({ index }) => index > since || (isRestored && index <= appliedIndex))
}
