/** What follows from an entry and was too much for it: the leader has it written bit by bit. No state of its own. */
import type { Domain } from '../domain.ts'
import { startCascadeDuty } from './duties.ts'

export const cascadesDomain: Domain = {
  name: 'cascades',
  duties: [
    {
      name: 'cascades',
      start: (context) => startCascadeDuty({ ...context, log: context.log.named('cascades') }),
    },
  ],
}
