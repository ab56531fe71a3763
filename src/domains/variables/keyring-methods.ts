/** What an operator may ask about the keyring. Keys are named, never shown. */
import { Type } from 'typebox'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod, defineQuery } from '../../rpc/method.ts'
import { missingClusterKey } from './cluster-key.ts'
import { addKey, type AddKey } from './keyring-commands.ts'
import { activeKey, keysMax, type KeyRow } from './keyring-model.ts'
import { clusterKeyring } from './services.ts'
import { keyring as keyringTable, keysOf } from './table.ts'

export type ShownKey = Omit<KeyRow, 'wrapped'>

/** How often a rotation starts over because another was quicker. */
const rotateAttemptsMax = 3

const list = defineQuery({
  kind: 'query',
  name: 'keyring.list',
  args: Type.Object({}),
  requires: () => ({ resource: 'operator', access: 'read' }),
  query: async (reader) => {
    const rows = await keysOf(reader)
    return { value: rows.map(withoutKey), index: reader.tableIndex(keyringTable) }
  },
})

/** Makes a new active key. What the old one sealed is sealed anew in the background (`duties.ts`). */
const rotate = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'keyring.rotate',
  args: Type.Object({}),
  requires: () => ({ resource: 'operator', access: 'write' }),
  run: async (context): Promise<ShownKey> => {
    const keyring = context.service(clusterKeyring)
    for (let attempt = 1; ; attempt++) {
      const active = activeKey(await keysOf(context.read()))
      if (active === null) {
        throw new MusterError(
          'unavailable',
          'there is no key to rotate yet: the keyring has not begun',
        )
      }
      const clusterKey = keyring.keys.get(active.clusterKeyId)
      if (clusterKey === null) throw missingClusterKey(active.clusterKeyId)
      const timeMs = Math.floor(context.clock.wallMs())
      const args: AddKey = { ...keyring.makeKey(clusterKey), timeMs, replaces: active.id }
      const { outcome } = await context.propose(addKey, args)
      const added = outcome
      switch (added.type) {
        case 'added':
          return withoutKey(added.row)
        case 'full':
          throw new MusterError(
            'conflict',
            `the keyring holds ${keysMax} keys: wait until old ones are no longer used`,
          )
        case 'superseded':
          if (attempt < rotateAttemptsMax) break
          throw new MusterError(
            'conflict',
            'another rotation is under way: look at the keys and try again',
          )
        default:
          return assertNever(added)
      }
    }
  },
})

export const keyringMethods = { list, rotate }

function withoutKey(row: KeyRow): ShownKey {
  const { id, clusterKeyId, state, createTimeMs, retiredTimeMs, createIndex, modifyIndex } = row
  return { id, clusterKeyId, state, createTimeMs, retiredTimeMs, createIndex, modifyIndex }
}
