/** How a server that got a request spends a use of its token: the leader writes it. */
import { Type } from 'typebox'
import { definePeerMethod } from '../../rpc/method.ts'
import { hashLengthMax } from './model.ts'
import { spendUse } from './use-commands.ts'

export const spendUseMethod = definePeerMethod({
  kind: 'peer',
  name: 'acl.spendUse',
  at: 'leader',
  args: Type.Object({ hash: Type.String({ maxLength: hashLengthMax }) }),
  reply: Type.Object({ spent: Type.Boolean() }),
  run: async (context, { hash }) => {
    const nowMs = Math.floor(context.clock.wallMs())
    const { outcome } = await context.propose(spendUse, { hash, nowMs })
    return { spent: outcome.type !== 'gone' }
  },
})
