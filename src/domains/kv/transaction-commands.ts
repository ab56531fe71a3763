/**
 * Transactions that touch keys and the catalog, in one entry. The two kinds meet in one place only: what the catalog loses
 * ends sessions, and those hold keys. A transaction that does both to the same key is refused: each part is put together
 * beside the state before the entry, and would not see what the other makes of the key.
 */
import { Type, type Static } from 'typebox'
import type { Applied, Reader } from '../../fsm/domain.ts'
import { CatalogDraft } from '../catalog/draft-commands.ts'
import { operate, type CatalogResult } from '../catalog/operation-commands.ts'
import { commandsByType, defineCommand, TimeMs } from '../define.ts'
import { namespaces } from '../namespaces/table.ts'
import { isLost } from '../sessions/ending-commands.ts'
import { sessionOf } from '../sessions/queries.ts'
import { holdsFence } from './fence-queries.ts'
import { DelaysSeen, Fence } from './model.ts'
import {
  evaluateEach,
  judgedAt,
  loadOperations,
  type EachEvaluated,
  type LoadedOperations,
} from './operation-commands.ts'
import type { Operation } from './operation-model.ts'
import {
  isKeyStep,
  Steps,
  type RefusedStep,
  type ShownStep,
  type Step,
  type StepsOutcome,
} from './transaction-model.ts'

const Transact = Type.Object({
  steps: Steps,
  fence: Type.Union([Type.Null(), Fence]),
  nowMs: TimeMs,
  delaysSeen: DelaysSeen,
})

export type Transact = Static<typeof Transact>

export type TransactOutcome =
  | StepsOutcome
  | { readonly type: 'fenced' }
  | { readonly type: 'unknownNamespace'; readonly namespace: string }

export type LoadedSteps = {
  readonly operations: readonly Operation[]
  readonly keys: LoadedOperations
  /** By step; null: it is one on a key. */
  readonly catalog: readonly (CatalogResult | null)[]
  readonly draft: CatalogDraft
}

type LoadedTransact = LoadedSteps & {
  readonly refusal: Extract<TransactOutcome, { type: 'fenced' | 'unknownNamespace' }> | null
  readonly torn: ReadonlySet<Operation>
}

export async function loadSteps(reader: Reader, steps: readonly Step[]): Promise<LoadedSteps> {
  const operations = steps.filter(isKeyStep).map(({ operation }) => operation)
  const keys = await loadOperations(reader, operations)
  const draft = new CatalogDraft(reader)
  const catalog: (CatalogResult | null)[] = []
  for (const step of steps) catalog.push(isKeyStep(step) ? null : await operate(draft, step))
  return { operations, keys, catalog, draft }
}

export const transactSteps = defineCommand({
  type: 'kv.transact',
  args: Transact,
  since: 2,
  load: async (reader, { steps, fence }): Promise<LoadedTransact> => {
    const refusal = refusalOf(reader, steps, fence)
    const loaded = await loadSteps(reader, refusal === null ? steps : [])
    return { ...loaded, refusal, torn: tornOperations(reader, loaded) }
  },
  apply: ({ index }, times, loaded): Applied<TransactOutcome> => {
    const { refusal, operations, keys, draft, torn } = loaded
    if (refusal !== null) return { changes: [], outcome: refusal }
    const each = evaluateEach(judgedAt(index, times), operations, keys)
    const outcome = outcomeOf(index, loaded, each, torn)
    if (outcome.type === 'refused') return { changes: [], outcome }
    const changes = [...draft.changes(index), ...each.changes]
    return { changes, outcome, happened: { nowMs: times.nowMs, facts: draft.facts() } }
  },
})

export const transactCommands = commandsByType([transactSteps])

function refusalOf(
  reader: Reader,
  steps: readonly Step[],
  fence: Fence | null,
): LoadedTransact['refusal'] {
  const unknown = steps
    .filter(isKeyStep)
    .find(({ operation }) => reader.get(namespaces, [operation.namespace]) === undefined)
  if (unknown !== undefined) {
    return { type: 'unknownNamespace', namespace: unknown.operation.namespace }
  }
  return holdsFence(reader, fence) ? null : { type: 'fenced' }
}

const noneTorn: ReadonlySet<Operation> = new Set()

/** Operations on keys that a session holds, or that name one, which ends in this entry. */
export function tornOperations(
  reader: Reader,
  { operations, keys: { entries }, draft }: LoadedSteps,
): ReadonlySet<Operation> {
  const losses = draft.losses()
  if (losses.length === 0) return noneTorn
  const known = new Map<string, boolean>()
  const ends = (namespace: string, id: string): boolean => {
    const before = known.get(id)
    if (before !== undefined) return before
    const row = sessionOf(reader, { namespace, id })
    const ended = row !== null && isLost(row, losses)
    known.set(id, ended)
    return ended
  }
  const isTorn = (operation: Operation): boolean => {
    const { namespace } = operation
    if ('session' in operation && ends(namespace, operation.session)) return true
    const isTree = operation.type === 'get-tree' || operation.type === 'delete-tree'
    const one = entries.get(operation)
    const touched = isTree ? [...entries.below(operation)] : one === null ? [] : [one]
    return touched.some(({ row }) => row.session !== null && ends(namespace, row.session))
  }
  return new Set(operations.filter(isTorn))
}

export function outcomeOf(
  index: number,
  { operations, catalog }: LoadedSteps,
  each: EachEvaluated,
  torn: ReadonlySet<Operation> = noneTorn,
): StepsOutcome {
  const shown: ShownStep[] = []
  const refused: RefusedStep[] = []
  const shownKeys = each.shown.values()
  let position = 0
  for (const [at, result] of catalog.entries()) {
    if (result === null) {
      const operation = operations[position]
      const failed = each.refused.find((one) => one.at === position)
      position += 1
      if (operation !== undefined && torn.has(operation)) {
        refused.push({ at, refusal: { type: 'sessionEnds' } })
      } else if (failed !== undefined) {
        refused.push({ at, refusal: failed.refusal })
      }
      // Where one is refused nothing is shown: it does not matter which ones follow.
      for (const entry of shownKeys.next().value ?? []) shown.push({ kind: 'key', entry })
    } else if (result.type === 'refused') {
      refused.push({ at, refusal: result.refusal })
    } else {
      const record = result.shown(index)
      if (record !== null) shown.push(record)
    }
  }
  return refused.length > 0 ? { type: 'refused', refused } : { type: 'done', shown }
}
