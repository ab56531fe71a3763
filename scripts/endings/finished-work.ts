/** An archive of a cluster that ran very many allocations, of which none runs any more, of jobs that are gone. */
import type { ClientReport } from '../../src/domains/allocations/model.ts'
import { placedOn, workloads, type Workloads } from '../../test/domains/allocations/workloads.ts'
import { archiveOf } from './archive-of.ts'

const perPlan = 256
const perJob = 10_240
/** Not so long ago that the leader forgets them by itself. */
const endedMs = Date.now()
const room = { cpuMhz: 100_000, memoryMb: 100_000, diskMb: 100_000, networks: [], nodeNetworks: [] }

/** Its pieces. */
export async function finishedWork(count: number): Promise<readonly Buffer[]> {
  const ends: (() => unknown)[] = []
  const state = await workloads({ teardown: (end) => ends.unshift(end) })
  try {
    const node = await state.node(1, { resources: room })
    for (let made = 0; made < count; made += perJob) {
      await finishedJob(state, node, made, Math.min(perJob, count - made))
    }
    return await archiveOf(state.machine)
  } finally {
    for (const end of ends) await end()
  }
}

async function finishedJob(
  state: Workloads,
  node: string,
  first: number,
  count: number,
): Promise<void> {
  const job = await state.plant(`job${first}`)
  for (let at = 0; at < count; at += perPlan) {
    const numbers = Array.from(
      { length: Math.min(perPlan, count - at) },
      (_, step) => first + at + step,
    )
    const place = numbers.map((number) => placedOn(job, node, number))
    const { refused } = await state.plan(job, { place })
    if (refused.length > 0) throw new Error(`an allocation was refused: ${refused[0]?.reason}`)
    const reports = place.map(({ id }) => ({ node, report: complete(id) }))
    await state.apply('allocations.reported', { reports, nowMs: endedMs })
  }
  const evaluationId = job.evaluation.replace(/^.{8}/, 'ffffffff')
  const purge = { namespace: 'default', id: job.jobId, purge: true, evaluationId, nowMs: endedMs }
  await state.apply('jobs.deregister', purge)
}

/** As an agent tells of a task that ended well. */
function complete(id: string): ClientReport {
  const events = ['Received', 'Task Setup', 'Started', 'Terminated'].map((type) => ({
    type,
    timeNs: `${endedMs}000000`,
    message: `${type} by the client`,
    displayMessage: `${type} by the client`,
    details: [],
  }))
  const times = { startedMs: endedMs, finishedMs: endedMs, lastRestartMs: null }
  const task = {
    task: 'main',
    state: 'dead',
    failed: false,
    restarts: 0,
    ...times,
    events,
  } as const
  return { id, clientStatus: 'complete', clientDescription: '', tasks: [task], health: null }
}
