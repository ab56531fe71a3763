/**
 * The leader looks at deployments that are under way whenever one was written, and at their deadlines: what makes no progress fails, and healthy
 * canaries are promoted where the job says so. All of it is in the rows, so a new leader goes on.
 */
import { randomUUID } from 'node:crypto'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import { failDeployment, promoteDeployment } from './commands.ts'
import { activeDeployments, deploymentsIndex } from './queries.ts'
import { stepOf, type Step } from './step-model.ts'

/** While there are any. Whether one was written costs next to nothing to see. */
const everyMs = 250
const everyMsWithout = 1_000
const retryMs = 1_000
/** Looks take at most a tenth of the leader's time. */
const gapPerLook = 9

type Due = { readonly id: string; readonly step: Exclude<Step, { type: 'wait' }> }

export function startDeploymentWatcher({ clock, log, view, propose }: DutyContext): Running {
  let lookedIndex = 0
  let untilMs = Infinity
  let areThere = false
  let lookedForMs = 0
  return periodic({
    clock,
    log,
    failure: 'deployments could not be looked at',
    everyMs,
    retryMs,
    gapMs: () => gapPerLook * lookedForMs,
    round: async (signal) => {
      const beganMs = clock.monotonicMs()
      const due = await look()
      lookedForMs = clock.monotonicMs() - beganMs
      for (const one of due) if (!signal.aborted) await carryOut(one)
      return areThere ? everyMs : everyMsWithout
    },
  })

  function look(): Promise<readonly Due[]> {
    return onView(view, async (reader) => {
      const index = deploymentsIndex(reader)
      const nowMs = clock.wallMs()
      if (index === lookedIndex && nowMs < untilMs) return []
      const due: Due[] = []
      let nextMs = Infinity
      areThere = false
      for await (const page of activeDeployments(reader)) {
        for (const row of page) {
          areThere = true
          const step = stepOf(row, nowMs)
          if (step.type === 'wait') nextMs = Math.min(nextMs, step.untilMs)
          else due.push({ id: row.id, step })
        }
      }
      // What is due is done first; where that fails, all of it is looked at again.
      lookedIndex = due.length > 0 ? 0 : index
      untilMs = nextMs
      return due
    })
  }

  async function carryOut({ id, step }: Due): Promise<void> {
    const args = { id, evaluationId: randomUUID(), nowMs: Math.floor(clock.wallMs()) }
    const { outcome } =
      step.type === 'fail'
        ? await propose(failDeployment, { ...args, operator: false })
        : await propose(promoteDeployment, { ...args, groups: null })
    if (outcome.type !== 'changed') return
    const { jobId: job, namespace, status, statusDescription: text } = outcome.row
    log.info('a deployment goes on', { deployment: id, job, namespace, status, text })
  }
}
