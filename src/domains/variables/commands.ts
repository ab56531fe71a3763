/**
 * Changes of variables. The items arrive sealed and the time chosen; what is decided here, at the entry's index, is
 * whether the check holds, the namespace exists, and the key that sealed is still in the keyring.
 */
import { Type, type Static } from 'typebox'
import type { Applied, Reader } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, put, remove, TimeMs } from '../define.ts'
import { holdsFence } from '../kv/fence-queries.ts'
import { Fence } from '../kv/model.ts'
import { namespaces } from '../namespaces/table.ts'
import { KeyId } from './keyring-model.ts'
import { keyring, sealedItems, variables } from './table.ts'
import { Cas, Sealed, VariablePlace, type SealedRow, type VariableRow } from './model.ts'

/** Variables of one `variables.reseal`. */
export const resealEntriesMax = 256

/** The lock that a write depends on. */
const Lock = { fence: Type.Optional(Type.Union([Type.Null(), Fence])) }

const Put = Type.Object({
  ...VariablePlace.properties,
  keyId: KeyId,
  sealed: Sealed,
  timeMs: TimeMs,
  cas: Cas,
  ...Lock,
})

const Delete = Type.Object({ ...VariablePlace.properties, cas: Cas, ...Lock })

const Reseal = Type.Object({
  entries: Type.Array(
    Type.Object({
      ...VariablePlace.properties,
      modifyIndex: Type.Integer({ minimum: 1 }),
      fromKeyId: KeyId,
      keyId: KeyId,
      sealed: Sealed,
    }),
    { maxItems: resealEntriesMax },
  ),
})

export type PutVariable = Static<typeof Put>
export type DeleteVariable = Static<typeof Delete>
export type ResealVariables = Static<typeof Reseal>

/** The variable as it stood in the way, with its sealed items; null when there is none. */
export type Conflict = {
  readonly type: 'conflict'
  readonly row: VariableRow | null
  readonly sealed: SealedRow | null
}

/** The lock that the write depends on is not held any more. */
export type Fenced = { readonly type: 'fenced' }

export type PutOutcome =
  | { readonly type: 'written'; readonly row: VariableRow }
  | Conflict
  | Fenced
  | { readonly type: 'unknownNamespace' }
  /** The key went between sealing and this entry: seal again. */
  | { readonly type: 'unknownKey' }

export type DeleteOutcome =
  | { readonly type: 'deleted'; readonly found: boolean }
  | Conflict
  | Fenced

export type ResealOutcome = { readonly replaced: number }

function loadVariable(reader: Reader, namespace: string, path: string, cas: number | null) {
  const row = reader.get(variables, [namespace, path]) ?? null
  const holds = cas === null || cas === (row?.modifyIndex ?? 0)
  const sealed = holds ? null : (reader.get(sealedItems, [namespace, path]) ?? null)
  return { row, conflict: holds ? null : ({ type: 'conflict', row, sealed } as const) }
}

export const putVariable = defineCommand({
  type: 'variables.put',
  args: Put,
  load: (reader, { namespace, path, cas, keyId, fence }) => ({
    ...loadVariable(reader, namespace, path, cas),
    holds: holdsFence(reader, fence ?? null),
    hasNamespace: reader.get(namespaces, [namespace]) !== undefined,
    hasKey: reader.get(keyring, [keyId]) !== undefined,
  }),
  apply: ({ index }, args, { row: before, conflict, holds, hasNamespace, hasKey }) => {
    const refuse = (outcome: PutOutcome) => ({ changes: [], outcome })
    if (!hasNamespace) return refuse({ type: 'unknownNamespace' })
    if (!holds) return refuse({ type: 'fenced' })
    if (conflict !== null) return refuse(conflict)
    if (!hasKey) return refuse({ type: 'unknownKey' })
    const { namespace, path, keyId, sealed } = args
    // Leaders' clocks differ: a variable's time never runs backwards.
    const timeMs = Math.max(args.timeMs, before?.modifyTimeMs ?? 0)
    const row: VariableRow = {
      namespace,
      path,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
      createTimeMs: before?.createTimeMs ?? timeMs,
      modifyTimeMs: timeMs,
    }
    const outcome: PutOutcome = { type: 'written', row }
    const changes = [
      put(variables, row),
      put(sealedItems, { namespace, path, modifyIndex: index, keyId, sealed }),
    ]
    return { changes, outcome }
  },
})

export const deleteVariable = defineCommand({
  type: 'variables.delete',
  args: Delete,
  load: (reader, { namespace, path, cas, fence }) => ({
    ...loadVariable(reader, namespace, path, cas),
    holds: holdsFence(reader, fence ?? null),
  }),
  apply: (_context, { namespace, path }, { row, conflict, holds }): Applied<DeleteOutcome> => {
    if (!holds) return { changes: [], outcome: { type: 'fenced' } }
    const key = [namespace, path]
    const outcome: DeleteOutcome = conflict ?? { type: 'deleted', found: row !== null }
    const goes = conflict === null && row !== null
    return {
      changes: goes ? [remove(variables, key), remove(sealedItems, key)] : [],
      outcome,
    }
  },
})

/** Other bytes for the same items: no index and no time moves, and nobody who waits for a change is told. */
export const resealVariables = defineCommand({
  type: 'variables.reseal',
  args: Reseal,
  load: (reader, { entries }) =>
    entries.map(({ namespace, path, keyId }) => ({
      row: reader.get(sealedItems, [namespace, path]),
      hasKey: reader.get(keyring, [keyId]) !== undefined,
    })),
  apply: (_context, { entries }, loaded) => {
    const changes = entries.flatMap((entry, position) => {
      const { row, hasKey } = loaded[position] ?? {}
      const unchanged =
        row?.modifyIndex === entry.modifyIndex && row.keyId === entry.fromKeyId && hasKey === true
      if (!unchanged) return []
      return [put(sealedItems, { ...row, keyId: entry.keyId, sealed: entry.sealed })]
    })
    return { changes, outcome: { replaced: changes.length } satisfies ResealOutcome }
  },
})

export const variableCommands = commandsByType([putVariable, deleteVariable, resealVariables])
