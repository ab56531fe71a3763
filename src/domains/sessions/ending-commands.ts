/**
 * How sessions end: by one of the commands here, or in the entry that took away what they were bound to. Whatever the
 * cause, what hangs on them goes in the same entry.
 */
import type { ApplyContext, Change, Reader } from '../../fsm/domain.ts'
import { remove } from '../define.ts'
import type { SessionRow } from './model.ts'
import { sessions } from './table.ts'

/** `nowMs`: wall time as the proposer chose it. */
export type EndContext = ApplyContext & { readonly nowMs: number }

/** What a later domain makes of the end of sessions; the catalogue gives the list. */
export type SessionEnding<Loaded = never> = {
  readonly load: (reader: Reader, ended: readonly SessionRow[]) => Promise<Loaded>
  /** Pure. */
  readonly apply: (context: EndContext, loaded: Loaded) => readonly Change[]
}

/** As `SessionEnding`, its types forgotten. */
export type AnySessionEnding = {
  readonly load: (reader: Reader, ended: readonly SessionRow[]) => Promise<unknown>
  readonly apply: (context: EndContext, loaded: never) => readonly Change[]
}

export type LoadedEnd = {
  readonly ended: readonly SessionRow[]
  readonly byEnding: readonly unknown[]
}

export async function loadEnd(
  reader: Reader,
  endings: readonly AnySessionEnding[],
  ended: readonly SessionRow[],
): Promise<LoadedEnd> {
  const byEnding: unknown[] = []
  if (ended.length > 0) {
    for (const ending of endings) byEnding.push(await ending.load(reader, ended))
  }
  return { ended, byEnding }
}

export function changesOfEnd(
  context: EndContext,
  endings: readonly AnySessionEnding[],
  { ended, byEnding }: LoadedEnd,
): readonly Change[] {
  return [
    ...ended.map(({ namespace, id }) => remove(sessions, [namespace, id])),
    ...byEnding.flatMap((loaded, position) => [
      ...(endings[position]?.apply(context, loaded as never) ?? []),
    ]),
  ]
}

/** What one entry of the catalog takes from a node, as its cascade says it; names are in lower case. */
type Loss = { readonly node: string; readonly checkIds: readonly string[] | 'all' }

/** Ends the sessions that are bound to what is lost. */
export function endOnLoss(endings: readonly AnySessionEnding[]) {
  return {
    load: async (reader: Reader, losses: readonly Loss[]): Promise<LoadedEnd> => {
      const ended: SessionRow[] = []
      for (const { node, checkIds } of losses) {
        for await (const page of reader.pagesBy(sessions, 'byNode', { prefix: [node] })) {
          const isLost = ({ boundChecks }: SessionRow) =>
            checkIds === 'all' || boundChecks.some((id) => checkIds.includes(id))
          ended.push(...page.filter(isLost))
        }
      }
      return loadEnd(reader, endings, ended)
    },
    apply: (context: EndContext, loaded: LoadedEnd): readonly Change[] =>
      changesOfEnd(context, endings, loaded),
  }
}

/** Ends the sessions that were made with tokens that are revoked. */
export function endSessionsOfTokens(endings: readonly AnySessionEnding[]) {
  return {
    load: async (reader: Reader, accessors: readonly string[]): Promise<LoadedEnd> => {
      const ended: SessionRow[] = []
      for (const accessor of accessors) {
        const range = { prefix: [accessor] }
        for await (const page of reader.pagesBy(sessions, 'byToken', range)) ended.push(...page)
      }
      return loadEnd(reader, endings, ended)
    },
    apply: (context: EndContext, loaded: LoadedEnd): readonly Change[] =>
      changesOfEnd(context, endings, loaded),
  }
}
