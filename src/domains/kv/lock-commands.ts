/**
 * What the end of a session does to the keys it holds, in the entry that ends it: they are released or deleted as the
 * session's behavior says, and can not be locked for its lock delay.
 */
import type { AnyReaction } from '../../fsm/domain.ts'
import { defineReaction } from '../../fsm/fact.ts'
import { sessionEnded } from '../sessions/fact-model.ts'
import { releaseOf } from './held-queries.ts'
import { keys } from './table.ts'

export const kvReactions: readonly AnyReaction[] = [
  defineReaction({
    name: 'kv.held',
    on: sessionEnded,
    table: keys,
    index: 'bySession',
    prefix: ({ id }) => [id],
    since: null,
    emits: [],
    react: (reader, moment, session, rows) => ({
      changes: releaseOf(reader, { ...session, moment }, rows),
      happened: [],
    }),
  }),
]
