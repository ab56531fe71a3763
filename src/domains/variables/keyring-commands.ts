/** Changes of the keyring. Keys arrive wrapped; the state never holds another form. */
import { Type, type Static } from 'typebox'
import { commandsByType, defineCommand, put, remove, TimeMs } from '../define.ts'
import { activeKey, KeyId, keysMax, WrappedKey, type KeyRow } from './keyring-model.ts'
import { isKeyInUse, keyring, keysOf } from './table.ts'

const Add = Type.Object({
  id: KeyId,
  clusterKeyId: KeyId,
  wrapped: WrappedKey,
  timeMs: TimeMs,
  /** The active key this one replaces, null for the first: two leaders cannot both begin a keyring. */
  replaces: Type.Union([Type.Null(), KeyId]),
})

const Remove = Type.Object({ id: KeyId })

export type AddKey = Static<typeof Add>

export type AddKeyOutcome =
  | { readonly type: 'added'; readonly row: KeyRow }
  | { readonly type: 'superseded'; readonly activeId: string | null }
  | { readonly type: 'full' }

export type RemoveKeyOutcome =
  | { readonly type: 'removed' }
  | { readonly type: 'unknown' }
  | { readonly type: 'active' }
  | { readonly type: 'inUse' }

export const addKey = defineCommand({
  type: 'keyring.add',
  args: Add,
  load: (reader) => keysOf(reader),
  apply: ({ index }, args, rows) => {
    const refuse = (outcome: AddKeyOutcome) => ({ changes: [], outcome })
    const active = activeKey(rows)
    const activeId = active?.id ?? null
    if (activeId !== args.replaces || rows.some(({ id }) => id === args.id)) {
      return refuse({ type: 'superseded', activeId })
    }
    if (rows.length >= keysMax) return refuse({ type: 'full' })
    const { id, clusterKeyId, wrapped, timeMs } = args
    const row: KeyRow = {
      id,
      clusterKeyId,
      wrapped,
      state: 'active',
      createTimeMs: timeMs,
      retiredTimeMs: null,
      createIndex: index,
      modifyIndex: index,
    }
    const outcome: AddKeyOutcome = { type: 'added', row }
    const changes = [put(keyring, row)]
    if (active !== null) {
      changes.push(
        put(keyring, { ...active, state: 'inactive', retiredTimeMs: timeMs, modifyIndex: index }),
      )
    }
    return { changes, outcome }
  },
})

export const removeKey = defineCommand({
  type: 'keyring.remove',
  args: Remove,
  load: async (reader, { id }) => ({
    row: reader.get(keyring, [id]),
    inUse: await isKeyInUse(reader, id),
  }),
  apply: (_context, { id }, { row, inUse }) => {
    const refuse = (outcome: RemoveKeyOutcome) => ({ changes: [], outcome })
    if (row === undefined) return refuse({ type: 'unknown' })
    if (row.state === 'active') return refuse({ type: 'active' })
    if (inUse) return refuse({ type: 'inUse' })
    const outcome: RemoveKeyOutcome = { type: 'removed' }
    return { changes: [remove(keyring, [id])], outcome }
  },
})

export const keyringCommands = commandsByType([addKey, removeKey])
