/** What comes about with the end of sessions, for reactions of later domains in the same entry. */
import { defineFact } from '../../fsm/fact.ts'
import { record } from '../../fsm/row-schema.ts'
import { SessionPlace, SessionSpec } from './model.ts'

/** Of any cause. */
export const sessionEnded = defineFact({
  name: 'sessions.ended',
  payload: record({
    ...SessionPlace.properties,
    behavior: SessionSpec.properties.behavior,
    lockDelayNs: SessionSpec.properties.lockDelayNs,
  }),
  key: ({ id }) => [id],
})
