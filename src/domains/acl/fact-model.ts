/** What comes about with changes of tokens, for reactions of later domains in the same entry. */
import { defineFact } from '../../fsm/fact.ts'
import { record } from '../../fsm/row-schema.ts'
import { Accessor, MountId } from './model.ts'

/** Revoked, or its time is over. */
export const tokenGone = defineFact({
  name: 'acl.tokenGone',
  payload: record({ accessor: Accessor }),
  key: ({ accessor }) => [accessor],
})

/** A login method was disabled. Its domain comes later; the fact is here for what it issued, which is refused at once. */
export const mountGone = defineFact({
  name: 'acl.mountGone',
  payload: record({ mountId: MountId }),
  key: ({ mountId }) => [mountId],
})
