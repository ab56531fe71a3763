/** How workers of other servers have evaluations of the leader's queue, and say what becomes of them. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { definePeerMethod, type LeaderContext } from '../../rpc/method.ts'
import { Plan, PlanOutcome } from '../allocations/plan-model.ts'
import { RowId } from '../evaluations/model.ts'
import type { Lender } from './lender.ts'
import { loanMax, loanWaitMsMax } from './model.ts'
import { evaluationLending } from './services.ts'
import { underWayMax } from './workers.ts'

const kind = 'peer'
const at = 'leader'
/** Of one server: it has no more processors. */
const workersMax = 1_024
const Lent = Type.Object({ id: RowId, token: RowId })
const Index = Type.Integer({ minimum: 0 })
const Nothing = Type.Object({})

export const lendMethod = definePeerMethod({
  kind,
  name: 'scheduling.lend',
  at,
  args: Type.Object({
    types: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 16 }),
    max: Type.Integer({ minimum: 1, maximum: loanMax }),
    waitMs: Type.Integer({ minimum: 0, maximum: loanWaitMsMax }),
  }),
  reply: Type.Object({ index: Index, evaluations: Type.Array(Lent, { maxItems: loanMax }) }),
  run: async (context, request) => {
    const { index, evaluations } = await lenderOf(context).lend(request, context.signal)
    return { index, evaluations: [...evaluations] }
  },
})

/** `index`: of the entry. */
export const submitMethod = definePeerMethod({
  kind,
  name: 'scheduling.submit',
  at,
  args: Type.Object({ token: RowId, plan: Plan }),
  reply: Type.Object({ index: Index, outcome: PlanOutcome }),
  run: (context, { token, plan }) => lenderOf(context).submit(token, plan),
})

export const prolongMethod = definePeerMethod({
  kind,
  name: 'scheduling.prolong',
  at,
  args: Type.Object({ lent: Type.Array(Lent, { maxItems: workersMax * underWayMax }) }),
  reply: Nothing,
  run: (context, { lent }) => {
    lenderOf(context).prolong(lent)
    return {}
  },
})

/** `failed`: the evaluation is open still, and the worker can do nothing more for it. */
export const returnMethod = definePeerMethod({
  kind,
  name: 'scheduling.return',
  at,
  args: Type.Object({ lent: Lent, failed: Type.Boolean() }),
  reply: Nothing,
  run: (context, { lent, failed }) => {
    lenderOf(context).end(lent, failed)
    return {}
  },
})

export const schedulingPeerMethods = [lendMethod, submitMethod, prolongMethod, returnMethod]

function lenderOf({ service }: LeaderContext): Lender {
  const { lender } = service(evaluationLending)
  if (lender !== null) return lender
  throw new MusterError('unavailable', 'this server has only begun to lead')
}
