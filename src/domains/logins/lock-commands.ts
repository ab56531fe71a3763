/** Locks names and unlocks them. A lock ends by itself: readers compare its time, and later locks remove its row. */
import { Type } from 'typebox'
import type { AnyReaction, Reader } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, put, remove, removeRow, TimeMs } from '../define.ts'
import { endedLocksPerEntryMax, LockName, locksMax, type LockRow } from './lock-model.ts'
import { MountId, mountsVersion } from './model.ts'
import { endsWithMount } from './mount-rows-commands.ts'
import { mountStands } from './queries.ts'
import { lockRows } from './table.ts'

const Lock = Type.Object({ mountId: MountId, name: LockName, nowMs: TimeMs, untilMs: TimeMs })

export const lockLogin = defineCommand({
  type: 'logins.lock',
  since: mountsVersion,
  args: Lock,
  load: async (reader, { mountId, name, nowMs }) => ({
    stands: mountStands(reader, mountId),
    before: reader.get(lockRows, [mountId, name]),
    others: await othersToGo(reader, nowMs),
  }),
  apply: ({ index }, { nowMs: _nowMs, ...args }, { stands, before, others }) => {
    if (!stands) return { changes: [], outcome: { locked: false } }
    const row: LockRow = {
      ...args,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
    }
    const gone = others.filter((other) => other.mountId !== row.mountId || other.name !== row.name)
    const changes = [...gone.map((other) => removeRow(lockRows, other)), put(lockRows, row)]
    return { changes, outcome: { locked: true } }
  },
})

/** Those whose time is over; where there are none and no room is left, the one that ends first. */
async function othersToGo(reader: Reader, nowMs: number): Promise<readonly LockRow[]> {
  const ended: LockRow[] = []
  let first: LockRow | null = null
  let count = 0
  for await (const page of reader.pagesBy(lockRows, 'byEnd')) {
    for (const row of page) {
      first ??= row
      if (row.untilMs <= nowMs && ended.length < endedLocksPerEntryMax) ended.push(row)
    }
    count += page.length
    if (count >= locksMax) break
  }
  return ended.length === 0 && count >= locksMax && first !== null ? [first] : ended
}

const Unlock = Type.Object({ mountId: MountId, name: LockName })

export const unlockLogin = defineCommand({
  type: 'logins.unlock',
  since: mountsVersion,
  args: Unlock,
  load: (reader, { mountId, name }) => reader.get(lockRows, [mountId, name]),
  apply: (_context, { mountId, name }, before) => ({
    changes: before === undefined ? [] : [remove(lockRows, [mountId, name])],
    outcome: { existed: before !== undefined },
  }),
})

export const lockCommands = commandsByType([lockLogin, unlockLogin])

export const lockReactions: readonly AnyReaction[] = [
  endsWithMount('logins.locksOfMount', lockRows, mountsVersion),
]
