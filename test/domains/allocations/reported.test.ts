/** What agents report: of their own allocations alone, and never back from an end. */
import t from 'tap'
import type { ReportedOutcome } from '../../../src/domains/allocations/reported-commands.ts'
import type { ClientReport } from '../../../src/domains/allocations/model.ts'
import { deadTask } from '../../support/dead-task.ts'
import { idOf, nowMs, placedOn, workloads, type Workloads } from './workloads.ts'

const [first, second] = [idOf('allo', 0), idOf('allo', 1)]

function reportOf(id: string, more: Partial<ClientReport> = {}): ClientReport {
  return { id, clientStatus: 'running', clientDescription: '', tasks: [], health: null, ...more }
}

function report(here: Workloads, node: string, ...reports: readonly ClientReport[]) {
  return here.apply<ReportedOutcome>('allocations.reported', {
    reports: reports.map((one) => ({ node, report: one })),
    nowMs,
  })
}

void t.test('an allocation runs, and ends once', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const job = await here.plant('web', 'batch')
  await here.plan(job, { place: [placedOn(job, node, 0)] })
  const placedAt = here.machine.appliedIndex
  t.match(await report(here, node, reportOf(first)), { changed: [{ id: first, ended: false }] })
  t.match(here.job(), { groups: [{ starting: 0, running: 1 }], status: 'running' })
  t.match(here.allocation(first), { modifyIndex: placedAt + 1, allocModifyIndex: placedAt })

  const same = await report(here, node, reportOf(first))
  t.strictSame(same.changed, [], 'the same again')
  t.equal(here.allocation(first)?.modifyIndex, placedAt + 1)

  const ended = reportOf(first, { clientStatus: 'complete' })
  t.match(await report(here, node, ended), { changed: [{ id: first, node, ended: true }] })
  t.match(here.job(), { groups: [{ running: 0, complete: 1 }] })
  const late = await report(
    here,
    node,
    reportOf(first),
    reportOf(first, { clientStatus: 'failed' }),
  )
  t.strictSame(late.changed, [])
  t.equal(here.allocation(first)?.clientStatus, 'complete')
})

void t.test('of another node and of none: named, and nothing else', async (t) => {
  const here = await workloads(t)
  const [node, other] = [await here.node(1), await here.node(2)]
  const job = await here.plant()
  await here.plan(job, { place: [placedOn(job, node, 0)] })
  const before = here.allocation(first)
  const outcome = await report(here, other, reportOf(first), reportOf(second))
  const unknown = [first, second].map((id) => ({ node: other, id }))
  t.strictSame(outcome, { changed: [], unknown, evaluations: [] })
  t.strictSame(here.allocation(first), before)
})

void t.test('failures of a job lead to one evaluation, unless they were to stop', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const job = await here.plant()
  await here.plan(job, { place: [0, 1, 2].map((number) => placedOn(job, node, number)) })
  const failed = [first, second].map((id) => reportOf(id, { clientStatus: 'failed' }))
  const { evaluations } = await report(here, node, ...failed)
  t.equal(evaluations.length, 1)
  t.match(here.evaluation(evaluations[0] ?? ''), {
    triggeredBy: 'alloc-failure',
    status: 'pending',
    jobId: 'web',
    type: 'service',
  })
  t.match(here.job(), { groups: [{ failed: 2, starting: 1 }] })

  const third = idOf('allo', 2)
  const stop = { id: third, desiredStatus: 'stop' as const, desiredDescription: '' }
  await here.plan(job, { stop: [{ ...stop, lost: false, followupEval: '' }] })
  const ended = await report(here, node, reportOf(third, { clientStatus: 'failed' }))
  t.match(ended, { changed: [{ id: third, ended: true }], evaluations: [] })
})

void t.test('what its agent ends although it is to run on is begun again', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const job = await here.plant()
  await here.plan(job, { place: [0, 1, 2].map((number) => placedOn(job, node, number)) })
  const [young, old, third] = [first, second, idOf('allo', 2)]
  const cutShort = (id: string) =>
    reportOf(id, { clientStatus: 'complete', tasks: [deadTask(['Killing', 'Killed'])] })
  const lookedAt = async (one: ClientReport, atMs: number) => {
    const args = { reports: [{ node, report: one }], nowMs: atMs }
    const { evaluations } = await here.apply<ReportedOutcome>('allocations.reported', args)
    return here.evaluation(evaluations[0] ?? '')
  }
  t.match(
    await lookedAt(cutShort(young), nowMs + 1_000),
    { triggeredBy: 'alloc-stop', status: 'pending', waitUntilMs: nowMs + 10_000 },
    'an agent that ends at once whatever it gets makes little work',
  )
  t.match(await lookedAt(cutShort(old), nowMs + 10_000), {
    triggeredBy: 'alloc-stop',
    waitUntilMs: 0,
  })
  const ownEnd = [deadTask(['Terminated']), deadTask(['Leader Task Dead', 'Killing', 'Killed'])]
  const ended = reportOf(third, { clientStatus: 'complete', tasks: ownEnd })
  t.equal(await lookedAt(ended, nowMs + 10_000), undefined, 'it came to its own end')
})

void t.test('one that was lost never runs again, and its agent says how it ended', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const job = await here.plant()
  await here.plan(job, { place: [placedOn(job, node, 0)] })
  await here.status(node, 'down')
  const stop = { id: first, desiredStatus: 'stop' as const, desiredDescription: '' }
  await here.plan(job, { stop: [{ ...stop, lost: true, followupEval: '' }] })
  await report(here, node, reportOf(first))
  t.equal(here.allocation(first)?.clientStatus, 'lost')
  await report(here, node, reportOf(first, { clientStatus: 'complete' }))
  t.equal(here.allocation(first)?.clientStatus, 'complete')
  t.match(here.job(), { groups: [{ lost: 0, complete: 1 }] })
})

void t.test(
  'what an operator said of its health outlasts reports of an agent that has not',
  async (t) => {
    const group = { group: 'g', desiredCanaries: 0, desiredTotal: 1 }
    for (const version of [15, 16]) {
      const here = await workloads(t, version)
      const node = await here.node(1)
      const job = await here.plant()
      const deployment = {
        id: idOf('depl', 1),
        groups: [{ ...group, autoRevert: false, autoPromote: false, progressDeadlineMs: 60_000 }],
      }
      const placed = placedOn(job, node, 0, { deploymentId: deployment.id })
      await here.plan(job, { place: [placed], deployment })
      await report(here, node, reportOf(first))
      const [id, evaluationId] = [deployment.id, idOf('eval', 77)]
      const judged = { id, healthy: [first], unhealthy: [], evaluationId, nowMs }
      t.match(await here.apply('allocations.setHealth', judged), { type: 'changed' })
      const same = await report(here, node, reportOf(first))
      t.equal(same.changed.length, version < 16 ? 1 : 0)
      await report(here, node, reportOf(first, { clientDescription: 'still' }))
      const health = version < 16 ? null : { healthy: true }
      t.match(here.allocation(first), { clientDescription: 'still', health })
      const unhealthy = { healthy: false, timeMs: nowMs }
      await report(here, node, reportOf(first, { health: unhealthy }))
      t.match(here.allocation(first), { health: unhealthy }, 'its agent may find otherwise')
    }
  },
)

void t.test('health leads to an evaluation while older versions are being replaced', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const job = await here.plant()
  await here.plan(job, { place: [placedOn(job, node, 0)] })
  const health = { healthy: true, timeMs: nowMs }
  const alone = await report(here, node, reportOf(first, { health }))
  t.strictSame(alone.evaluations, [], 'there is nothing to go on with')
  await here.newVersion('web')
  const next = placedOn(job, node, 1, { jobVersion: 1 })
  const { jobModifyIndex } = here.job() ?? { jobModifyIndex: 0 }
  await here.plan(job, { jobModifyIndex, place: [next] })
  const { evaluations } = await report(here, node, reportOf(second, { health }))
  t.match(here.evaluation(evaluations[0] ?? ''), { triggeredBy: 'rolling-update' })
})
