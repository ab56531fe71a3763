/** Commands after which the scheduler looks again, and at what. */
import { setHealth } from '../allocations/health-commands.ts'
import type { OnCommand } from '../../fsm/domain.ts'
import { moveAllocations } from '../allocations/move-commands.ts'
import { applyPlan } from '../allocations/plan-commands.ts'
import { reportAllocations } from '../allocations/reported-commands.ts'
import {
  failDeployment,
  pauseDeployment,
  promoteDeployment,
  type DeploymentOutcome,
} from '../deployments/commands.ts'
import { deregisterJob, evaluateJob, registerJob } from '../jobs/commands.ts'
import { dispatchJob, launchJob } from '../jobs/launch-commands.ts'
import { scaleJob } from '../jobs/scale-commands.ts'
import { releaseBrake, setBrake } from '../nodes/brake-commands.ts'
import { setSettings } from '../scheduler-settings/commands.ts'
import {
  completeDrains,
  evaluateNode,
  purgeNode,
  registerNode,
  setDrain,
  setEligibility,
  updateStatus,
} from '../nodes/commands.ts'

/** Ids. */
export type Observed = {
  readonly nodes?: readonly string[]
  readonly allocations?: readonly string[]
  readonly evaluations?: readonly string[]
}

/** Returns the way to stop. */
export function observe(onCommand: OnCommand, saw: (observed: Observed) => void): () => void {
  const unsubscribe = [
    onCommand(registerNode, ({ args }) => saw({ nodes: [args.id] })),
    onCommand(updateStatus, ({ outcome }) => saw({ nodes: outcome.changed })),
    onCommand(setEligibility, ({ args }) => saw({ nodes: [args.id] })),
    onCommand(setDrain, ({ args }) => saw({ nodes: [args.id] })),
    onCommand(completeDrains, ({ args }) => saw({ nodes: args.nodes.map(({ id }) => id) })),
    onCommand(evaluateNode, ({ args }) => saw({ nodes: [args.id] })),
    onCommand(purgeNode, ({ args }) => saw({ nodes: [args.id] })),
    onCommand(releaseBrake, () => saw({})),
    onCommand(setBrake, () => saw({})),
    onCommand(setSettings, () => saw({})),
    onCommand(registerJob, ({ args }) => saw({ evaluations: [args.evaluationId] })),
    onCommand(deregisterJob, ({ args }) => saw({ evaluations: [args.evaluationId] })),
    onCommand(dispatchJob, ({ args }) => saw({ evaluations: [args.evaluationId] })),
    onCommand(scaleJob, ({ args }) => saw({ evaluations: [args.evaluationId] })),
    onCommand(launchJob, ({ args }) => saw({ evaluations: [args.evaluationId] })),
    onCommand(evaluateJob, ({ args }) => saw({ evaluations: [args.evaluationId] })),
    onCommand(failDeployment, ({ outcome }) => saw(evaluationOf(outcome))),
    onCommand(pauseDeployment, ({ outcome }) => saw(evaluationOf(outcome))),
    onCommand(promoteDeployment, ({ outcome }) => saw(evaluationOf(outcome))),
    onCommand(setHealth, ({ outcome }) => saw(evaluationOf(outcome))),
    onCommand(applyPlan, ({ args: { place, stop, evaluations }, outcome }) =>
      saw({
        allocations: [...[...place, ...stop].map(({ id }) => id), ...outcome.preempted],
        evaluations: [...evaluations.map(({ id }) => id), ...outcome.evaluations],
      }),
    ),
    onCommand(moveAllocations, ({ outcome: { moved, evaluations } }) =>
      saw({ allocations: moved, evaluations }),
    ),
    onCommand(reportAllocations, ({ outcome }) =>
      saw({
        allocations: outcome.changed.flatMap(({ id, ended }) => (ended ? [id] : [])),
        evaluations: outcome.evaluations,
      }),
    ),
  ]
  return () => {
    for (const stop of unsubscribe) stop()
  }
}

function evaluationOf(outcome: DeploymentOutcome): Observed {
  const made = outcome.type === 'changed' ? outcome.evaluation : null
  return { evaluations: made === null ? [] : [made.id] }
}
