/**
 * What the end of a session does to the keys it holds, in the entry that ends it: they are released or deleted as the
 * session's behavior says, and can not be locked for its lock delay.
 */
import type { AnyReaction, Change } from '../../fsm/domain.ts'
import { defineReaction } from '../../fsm/fact.ts'
import { put } from '../define.ts'
import { sessionEnded } from '../sessions/fact-model.ts'
import { lockDelayMsOf } from '../sessions/model.ts'
import { Deletions } from './deletion-model.ts'
import { standing } from './fence-queries.ts'
import { keys, lockDelays } from './table.ts'

const heldKeys = defineReaction({
  name: 'kv.held',
  on: sessionEnded,
  table: keys,
  index: 'bySession',
  prefix: ({ id }) => [id],
  since: null,
  emits: [],
  react: (reader, { index, nowMs }, session, rows) => {
    const deletions = new Deletions(reader.commandVersion, { index, timeMs: nowMs })
    const changes: Change[] = []
    const untilMs = nowMs + lockDelayMsOf(session)
    for (const stored of rows) {
      const row = standing(reader, stored)
      const { namespace, key, lockIndex } = row
      if (session.behavior === 'delete') deletions.add(row, lockIndex)
      else changes.push(put(keys, { ...row, session: null, modifyIndex: index }))
      changes.push(put(lockDelays, { namespace, key, untilMs }))
    }
    return { changes: [...changes, ...deletions.changes()], happened: [] }
  },
})

export const kvReactions: readonly AnyReaction[] = [heldKeys]
