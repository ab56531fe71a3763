/**
 * What the end of a session does to the keys it holds, in the entry that ends it: they are released or deleted as the
 * session's behavior says, and can not be locked for its lock delay.
 */
import type { Change, Reader } from '../../fsm/domain.ts'
import { put } from '../define.ts'
import type { SessionEnding } from '../sessions/ending-commands.ts'
import { lockDelayMsOf, type SessionRow } from '../sessions/model.ts'
import { Deletions } from './deletion-model.ts'
import { standing } from './fence-queries.ts'
import type { KvRow } from './model.ts'
import { keys, lockDelays } from './table.ts'

type Held = { readonly session: SessionRow; readonly rows: readonly KvRow[] }
type Loaded = { readonly held: readonly Held[]; readonly commandVersion: number }

export const heldKeys: SessionEnding<Loaded> = {
  load: async (reader: Reader, ended: readonly SessionRow[]) => {
    const held: Held[] = []
    for (const session of ended) {
      const rows: KvRow[] = []
      const range = { prefix: [session.id] }
      for await (const page of reader.pagesBy(keys, 'bySession', range))
        rows.push(...page.map((row) => standing(reader, row)))
      if (rows.length > 0) held.push({ session, rows })
    }
    return { held, commandVersion: reader.commandVersion }
  },
  apply: ({ index, nowMs }, { held, commandVersion }) => {
    const deletions = new Deletions(commandVersion, { index, timeMs: nowMs })
    const changes: Change[] = []
    for (const { session, rows } of held) {
      for (const row of rows) {
        const { namespace, key, lockIndex } = row
        if (session.behavior === 'delete') deletions.add(row, lockIndex)
        else changes.push(put(keys, { ...row, session: null, modifyIndex: index }))
        const untilMs = nowMs + lockDelayMsOf(session)
        changes.push(put(lockDelays, { namespace, key, untilMs }))
      }
    }
    return [...changes, ...deletions.changes()]
  },
}
