/** What is over is forgotten, and nothing that is still asked for. */
import t, { type Test } from 'tap'
import { lostDescription } from '../../../src/domains/allocations/window-model.ts'
import { settledWorkloadsVersion } from '../../../src/domains/evaluations/model.ts'
import { openEvaluationsOfJob } from '../../../src/domains/evaluations/queries.ts'
import { versionKeys } from '../../../src/domains/jobs/queries.ts'
import { jobVersions, scalings, type JobRow } from '../../../src/domains/jobs/table.ts'
import { allOf } from '../../../src/lib/pages.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import {
  idOf,
  nowMs,
  placedOn,
  proposed,
  served,
  workloads,
  type Placed,
  type Workloads,
} from './workloads.ts'

const later = nowMs + 10

async function report(here: Workloads, node: string, number: number, clientStatus: string) {
  const told = { clientStatus, clientDescription: '', tasks: [], health: null }
  const reports = [{ node, report: { id: idOf('allo', number), ...told } }]
  await here.apply('allocations.reported', { reports, nowMs })
}

function stopOf(number: number, followupEval = '') {
  const why = { desiredStatus: 'stop' as const, desiredDescription: '', lost: false, followupEval }
  return { id: idOf('allo', number), ...why }
}

async function placed(t: Test, type: JobRow['type'] = 'service') {
  const here = await workloads(t)
  const node = await here.node(1)
  const job = await here.plant('web', type)
  await here.plan(job, { place: [0, 1, 2].map((number) => placedOn(job, node, number)) })
  return { here, node, job }
}

function collect(here: Workloads, numbers: readonly number[], beforeMs = later) {
  const allocations = numbers.map((number) => idOf('allo', number))
  return here.apply('allocations.collect', { allocations, evaluations: [], beforeMs })
}

const left = (here: Workloads, numbers: readonly number[]) =>
  numbers.filter((number) => here.allocation(idOf('allo', number)) !== undefined)

void t.test(
  'an allocation that was stopped and ended goes, one that may come back stays',
  async (t) => {
    const { here, node, job } = await placed(t)
    const evaluation = here.evaluation(job.evaluation)
    if (evaluation === undefined) throw new Error('no evaluation')
    const followup = { ...proposed(evaluation), id: idOf('late', 1), waitUntilMs: 9_000 }
    await here.plan(job, { stop: [stopOf(0), stopOf(1, followup.id)], evaluations: [followup] })
    await collect(here, [0, 1, 2])
    t.strictSame(left(here, [0, 1, 2]), [0, 1, 2], 'they run')
    for (const number of [0, 1]) await report(here, node, number, 'complete')
    await report(here, node, 2, 'failed')
    await collect(here, [0], nowMs - 1)
    t.strictSame(left(here, [0]), [0], 'it is too new')
    await collect(here, [0, 1, 2])
    t.strictSame(left(here, [0, 1, 2]), [1, 2], 'one has an evaluation to come, one no replacement')
  },
)

void t.test('what a batch job did stays as long as the job', async (t) => {
  const { here, node, job } = await placed(t, 'batch')
  await report(here, node, 0, 'complete')
  await collect(here, [0])
  t.strictSame(left(here, [0]), [0])
  await here.apply('test.purgeJob', { id: job.jobId })
  await collect(here, [0])
  t.strictSame(left(here, [0]), [])
})

void t.test('an evaluation goes after its allocations, and not while it is open', async (t) => {
  const { here, node, job } = await placed(t)
  const go = () =>
    here.apply('allocations.collect', {
      allocations: [],
      evaluations: [job.evaluation],
      beforeMs: later,
    })
  await go()
  t.ok(here.evaluation(job.evaluation), 'it is open')
  await ended(here, job, node)
  await go()
  t.ok(here.evaluation(job.evaluation), 'its allocations are there')
  await collect(here, [0, 1, 2])
  await go()
  t.equal(here.evaluation(job.evaluation), undefined)
})

async function ended(here: Workloads, job: Placed, node: string) {
  const evaluation = here.evaluation(job.evaluation)
  if (evaluation === undefined) throw new Error('no evaluation')
  await here.plan(job, {
    stop: [0, 1, 2].map((number) => stopOf(number)),
    evaluations: [{ ...proposed(evaluation), status: 'complete' }],
  })
  for (const number of [0, 1, 2]) await report(here, node, number, 'complete')
}

void t.test('an operator has all of it collected, more than one entry takes', async (t) => {
  const { server, here } = await served(t)
  const duty = server.startDuty('allocations')
  t.teardown(() => duty.stop())
  const large = { cpuMhz: 9_000, memoryMb: 90_000, diskMb: 90_000, networks: [], nodeNetworks: [] }
  const node = await here.node(1, { resources: large })
  const job = await here.plant()
  const numbers = Array.from({ length: 200 }, (_, at) => at)
  const place = numbers.map((number) => placedOn(job, node, number, { cpuMhz: 1 }))
  t.strictSame((await here.plan(job, { place })).refused, [])
  await here.plan(job, { stop: numbers.map((number) => stopOf(number)) })
  for (const number of numbers) if (number !== 7) await report(here, node, number, 'complete')
  const answer = await server.ask('PUT', '/v1/system/gc')
  t.equal(answer.status, 200, answer.body)
  await eventuallyTrue('they are gone', () => left(here, numbers).length === 1)
  t.strictSame(left(here, numbers), [7])
})

void t.test('jobs that are over go with all that is left of them, others stay', async (t) => {
  const { server, here } = await served(t)
  const duty = server.startDuty('allocations')
  t.teardown(() => duty.stop())
  const node = await here.node(1)
  const batch = await here.plant('batch', 'batch')
  const running = await here.plant('running', 'batch')
  const stopped = await here.plant('stopped')
  await here.plan(batch, { place: [placedOn(batch, node, 0)] })
  await here.plan(running, { place: [placedOn(running, node, 1)] })
  for (const job of [batch, running, stopped]) await complete(here, job)
  await report(here, node, 0, 'complete')
  for (let version = 1; version <= 9; version += 1) await here.newVersion('running')
  await scaled(here, 'stopped')
  t.ok(scalingOf(here, 'stopped'))
  await here.apply('jobs.deregister', {
    namespace: 'default',
    id: 'stopped',
    evaluationId: idOf('stop', 1),
    nowMs,
    purge: false,
  })
  await complete(here, { ...stopped, evaluation: idOf('stop', 1) })
  t.equal(here.job('stopped')?.status, 'dead')
  t.equal(here.job('batch')?.status, 'dead')
  await server.ask('PUT', '/v1/system/gc')
  await eventuallyTrue(
    'they are gone',
    async () =>
      (await versionsLeft(here)).join(' ') ===
      'running.0 running.4 running.5 running.6 running.7 running.8 running.9',
  )
  t.equal(here.job('batch'), undefined)
  t.equal(here.job('stopped'), undefined)
  t.equal(scalingOf(here, 'stopped'), undefined, 'a later job of the name has a history of its own')
  t.ok(here.job('running'), 'it runs')
  t.strictSame(left(here, [0, 1]), [1])
})

void t.test('a lost one that may still run stays, and so does its job', async (t) => {
  const { server, here } = await served(t)
  const duty = server.startDuty('allocations')
  t.teardown(() => duty.stop())
  const node = await here.node(1)
  const hour = 3_600_000_000_000
  const runs = await here.plant('runs', 'service', { StopAfterClientDisconnect: hour })
  const stopped = await here.plant('stopped', 'service', { StopAfterClientDisconnect: hour })
  const plain = await here.plant('plain')
  const jobs = [runs, stopped, plain, runs]
  for (const [number, job] of jobs.entries()) {
    await here.plan(job, { place: [placedOn(job, node, number)] })
  }
  await here.status(node, 'down')
  const ms = Date.now()
  const desiredDescription = lostDescription
  for (const [number, job] of jobs.entries()) {
    const stop = [{ ...stopOf(number), desiredDescription, lost: true }]
    await here.plan(job, { stop, nowMs: number === 3 ? ms - 2 * 3_600_000 : ms })
  }
  await here.apply('jobs.deregister', {
    namespace: 'default',
    id: 'stopped',
    evaluationId: idOf('stop', 1),
    nowMs,
    purge: false,
  })
  const view = here.machine.view()
  const key = { namespace: 'default', jobId: 'stopped' }
  const open = await allOf(openEvaluationsOfJob(view, key)).finally(() => view.close())
  for (const { id } of open) await complete(here, { ...stopped, evaluation: id })
  t.equal(here.job('stopped')?.status, 'dead')
  await server.ask('PUT', '/v1/system/gc')
  await eventuallyTrue('others are gone', () => left(here, [2, 3]).length === 0)
  t.strictSame(left(here, [0, 1]), [0, 1])
  t.ok(here.job('stopped'), 'registered again, it waits for what may still run')
})

void t.test(
  'what was asked of the counts stays where a server of the first jobs keeps it',
  async (t) => {
    for (const version of [settledWorkloadsVersion - 1, settledWorkloadsVersion]) {
      const here = await workloads(t, version)
      await here.plant('stopped')
      await scaled(here, 'stopped')
      const own = { namespace: 'default', id: 'stopped' }
      const job = { ...here.job('stopped'), stop: true, status: 'dead' }
      const key = ['default', 'stopped', here.job('stopped')?.createIndex ?? 0, 0]
      const spec = here.read((reader) => reader.get(jobVersions, key))?.spec
      await here.apply('test.plant', { job, spec, evaluations: [] })
      const modifyIndex = here.job('stopped')?.modifyIndex ?? 0
      await here.apply('jobs.collect', { jobs: [{ ...own, modifyIndex }] })
      t.equal(here.job('stopped'), undefined)
      t.equal(scalingOf(here, 'stopped') !== undefined, version < settledWorkloadsVersion)
    }
  },
)

/** It is told of, and its count stays. */
function scaled(here: Workloads, id: string) {
  const nothing = { count: null, error: false, message: 'none', meta: '', enforceIndex: null }
  const own = { namespace: 'default', id, group: 'g', evaluationId: idOf('scal', 1), nowMs }
  return here.apply('jobs.scale', { ...own, ...nothing })
}

function scalingOf(here: Workloads, id: string) {
  return here.read((reader) => reader.get(scalings, ['default', id, 'g']))
}

async function complete(here: Workloads, job: Placed) {
  const evaluation = here.evaluation(job.evaluation)
  if (evaluation === undefined) throw new Error('no evaluation')
  const jobModifyIndex = here.job(job.jobId)?.jobModifyIndex ?? 0
  await here.plan(job, {
    jobModifyIndex,
    evaluations: [{ ...proposed(evaluation), status: 'complete' }],
  })
}

async function versionsLeft(here: Workloads): Promise<readonly string[]> {
  const view = here.machine.view()
  try {
    const found: string[] = []
    for await (const page of versionKeys(view)) {
      found.push(...page.map(({ id, version }) => `${id}.${version}`))
    }
    return found
  } finally {
    view.close()
  }
}
