/** What comes about with changes of tokens, for reactions of later domains in the same entry. */
import { defineFact } from '../../fsm/fact.ts'
import { record } from '../../fsm/row-schema.ts'
import { Accessor } from './model.ts'

/** Revoked, or its time is over. */
export const tokenGone = defineFact({
  name: 'acl.tokenGone',
  payload: record({ accessor: Accessor }),
  key: ({ accessor }) => [accessor],
})
