/** Transactions over keys and the catalog, as they may be asked for. Those on keys alone are `kv.write` and `kv.readTxn`. */
import { Type } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import { defineLeaderMethod, defineQuery, type QueryContext } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { checkFence, checkOperations, requirementOf, settled } from './methods.ts'
import { Fence } from './model.ts'
import { judgeDelays } from './judged-delays.ts'
import { evaluateEach, judgedAt } from './operation-commands.ts'
import { storeIndex } from './queries.ts'
import { catalogRules } from './services.ts'
import {
  transactSteps,
  loadSteps,
  outcomeOf,
  tornOperations,
  type Transact,
} from './transaction-commands.ts'
import {
  isKeyStep,
  Steps,
  type CatalogOperation,
  type Step,
  type StepsOutcome,
} from './transaction-model.ts'

/** The same whatever is there already. */
const transactionMissing =
  "'node:write' on the node, or 'service:write' on the names of its services"

/** Throws `permission_denied` unless every operation is allowed. */
const mayAll = async (
  context: QueryContext,
  reader: Reader,
  steps: readonly Step[],
): Promise<void> => {
  const earlier: CatalogOperation[] = []
  for (const step of steps) {
    if (isKeyStep(step)) {
      mustMay(context, requirementOf(step.operation))
      continue
    }
    const requirements = await context.service(catalogRules).requirementsOf(reader, step, earlier)
    for (const requirement of requirements) mustMay(context, requirement, transactionMissing)
    earlier.push(step)
  }
}

const read = defineQuery({
  kind: 'query',
  name: 'kv.readTransaction',
  args: Type.Object({ steps: Steps }),
  requires: () => ({ resource: 'none' }),
  query: async (
    reader,
    { steps },
    context,
  ): Promise<{ readonly value: StepsOutcome; readonly index: number }> => {
    checkKeys(steps)
    await mayAll(context, reader, steps)
    const loaded = await loadSteps(reader, steps)
    const at = judgedAt(reader.appliedIndex, { nowMs: 0 })
    const each = evaluateEach(at, loaded.operations, loaded.keys)
    return { value: outcomeOf(at.index, loaded, each), index: storeIndex(reader) }
  },
})

const transact = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'kv.transact',
  args: Type.Object({ steps: Steps, fence: Type.Union([Type.Null(), Fence]) }),
  // What each operation needs is known only beside the state.
  requires: () => ({ resource: 'none' }),
  run: async (context, { steps, fence }): Promise<StepsOutcome> => {
    checkKeys(steps)
    await mayAll(context, context.read(), steps)
    if (fence !== null) checkFence(context, fence)
    const operations = steps.filter(isKeyStep).map(({ operation }) => operation)
    const { times, heldBackAt } = judgeDelays(context, operations)
    if (heldBackAt !== null) {
      const loaded = await loadSteps(context.read(), steps)
      const each = evaluateEach(heldBackAt, operations, loaded.keys)
      const torn = tornOperations(context.read(), loaded)
      const outcome = outcomeOf(heldBackAt.index, loaded, each, torn)
      if (outcome.type === 'refused') return outcome
    }
    const args: Transact = { steps, fence, ...times }
    const { outcome } = await context.propose(transactSteps, args)
    return settled<StepsOutcome>(outcome, fence)
  },
})

export const transactionMethods = { read, transact }

function checkKeys(steps: readonly Step[]): void {
  checkOperations(steps.filter(isKeyStep).map(({ operation }) => operation))
}
