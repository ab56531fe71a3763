/** Nodes that change lead to evaluations of the jobs that this concerns, in the same entry. */
import t from 'tap'
import { evaluations } from '../../../src/domains/evaluations/table.ts'
import {
  linkedWorkloadsVersion,
  type EvaluationRow,
} from '../../../src/domains/evaluations/model.ts'
import { nodeById } from '../../../src/domains/nodes/queries.ts'
import { idOf, nowMs, placedOn, served, workloads, type Workloads } from './workloads.ts'

/** Those that the last entry made. */
async function made(here: Workloads): Promise<readonly EvaluationRow[]> {
  const view = here.machine.view()
  const rows: EvaluationRow[] = []
  for await (const page of view.pages(evaluations)) rows.push(...page)
  const { appliedIndex } = view
  view.close()
  return rows.filter(({ createIndex }) => createIndex === appliedIndex)
}

async function withJobs(here: Workloads) {
  const [node, other] = [await here.node(1), await here.node(2)]
  const web = await here.plant('web')
  await here.plan(web, { place: [placedOn(web, node, 0), placedOn(web, node, 1)] })
  const elsewhere = await here.plant('elsewhere')
  await here.plan(elsewhere, { place: [placedOn(elsewhere, other, 2)] })
  await here.plant('agent', 'system')
  return { node, web }
}

const names = (rows: readonly EvaluationRow[]) => rows.map(({ jobId }) => jobId).toSorted()

void t.test('a lost node: the jobs that have work there, one evaluation each', async (t) => {
  const here = await workloads(t)
  const { node } = await withJobs(here)
  await here.status(node, 'down')
  const rows = await made(here)
  t.match(rows, [
    {
      jobId: 'web',
      triggeredBy: 'node-update',
      nodeId: node,
      nodeModifyIndex: here.machine.appliedIndex,
      status: 'pending',
      type: 'service',
    },
  ])
  t.equal(rows.length, 1)
})

void t.test(
  'a node that was only looked at: evaluations have the index of its newest change',
  async (t) => {
    const here = await workloads(t, linkedWorkloadsVersion - 1)
    const { node } = await withJobs(here)
    await here.apply('nodes.evaluate', { id: node, nowMs })
    const { appliedIndex } = here.machine
    t.match(await made(here), [{ nodeModifyIndex: appliedIndex }, {}], 'as older programs have it')
    await here.apply('state.raiseVersion', { version: linkedWorkloadsVersion })
    await here.apply('nodes.evaluate', { id: node, nowMs })
    const nodeModifyIndex = here.read((reader) => nodeById(reader, node))?.modifyIndex
    t.ok(nodeModifyIndex !== undefined && nodeModifyIndex < appliedIndex)
    t.match(await made(here), [{ nodeModifyIndex }, { nodeModifyIndex }])
    await here.status(node, 'down')
    t.match(await made(here), [{ nodeModifyIndex: here.machine.appliedIndex }])
  },
)

void t.test('a node that is back, or takes work again: also what runs on every node', async (t) => {
  const here = await workloads(t)
  const { node } = await withJobs(here)
  await here.status(node, 'down')
  await here.status(node, 'ready')
  t.strictSame(names(await made(here)), ['agent', 'web'])
  await here.apply('nodes.eligibility', { id: node, eligible: false, nowMs })
  t.strictSame(await made(here), [])
  await here.apply('nodes.eligibility', { id: node, eligible: true, nowMs })
  t.strictSame(names(await made(here)), ['agent', 'web'])
  const spec = { deadlineNs: 0, ignoreSystemJobs: false }
  const drain = { id: node, accessor: '', meta: [], nowMs }
  await here.apply('nodes.drain', { ...drain, spec, markEligible: false })
  t.strictSame(await made(here), [])
  await here.apply('nodes.drain', { ...drain, spec: null, markEligible: true })
  t.strictSame(names(await made(here)), ['agent', 'web'])
})

void t.test(
  'a node that is purged, with a job that is gone: by what is left of its version',
  async (t) => {
    const here = await workloads(t)
    const { node } = await withJobs(here)
    await here.apply('test.purgeJob', { id: 'web' })
    await here.apply('nodes.purge', { id: node, nowMs })
    t.match(await made(here), [{ jobId: 'web', type: 'service', jobModifyIndex: 0 }])
  },
)

void t.test(
  'more allocations than one entry looks at: every job is looked at in the end',
  async (t) => {
    const here = await workloads(t)
    const node = await here.node(1, { resources: large })
    for (let job = 0; job < 4; job += 1) {
      const planted = await here.plant(`job${job}`)
      const numbers = Array.from({ length: 100 }, (_, at) => 100 * job + at)
      const place = numbers.map((number) => placedOn(planted, node, number, { cpuMhz: 1 }))
      t.strictSame((await here.plan(planted, { place })).refused, [])
    }
    await here.status(node, 'down')
    const before = here.machine.appliedIndex
    while (await goesOn(here)) t.ok(here.machine.appliedIndex < before + 50)
    const view = here.machine.view()
    const jobs = new Set<string>()
    for await (const page of view.pagesBy(evaluations, 'byNode', { prefix: [node] })) {
      for (const { jobId } of page) jobs.add(jobId)
    }
    view.close()
    t.strictSame([...jobs].toSorted(), ['job0', 'job1', 'job2', 'job3'])
  },
)

void t.test('replies of evaluate, purge and eligibility name the evaluations', async (t) => {
  const { server, here } = await served(t)
  const { node } = await withJobs(here)
  const asked = async (tail: string, body?: unknown) => {
    const answer = await server.ask('PUT', `/v1/node/${node}/${tail}`, body)
    t.equal(answer.status, 200, answer.body)
    return answer.json() as { readonly EvalIDs: readonly string[] | null; readonly Index: number }
  }
  const evaluated = await asked('evaluate')
  t.match(evaluated, { EvalCreateIndex: evaluated.Index, NumNodes: 2, EvalIDs: { length: 2 } })
  const rows = evaluated.EvalIDs?.map((id) => here.evaluation(id)?.jobId)
  t.strictSame(rows?.toSorted(), ['agent', 'web'])
  const none = await asked('eligibility', { Eligibility: 'ineligible' })
  t.match(none, { EvalIDs: null, EvalCreateIndex: 0 })
  t.match(await asked('eligibility', { Eligibility: 'eligible' }), { EvalIDs: { length: 2 } })
  t.match(await asked('purge'), { EvalIDs: { length: 1 }, NumNodes: 1 })
  const unknown = await server.ask('PUT', `/v1/node/${idOf('none', 1)}/evaluate`)
  t.equal(unknown.status, 404)
})

const large = {
  cpuMhz: 100_000,
  memoryMb: 100_000,
  diskMb: 100_000,
  networks: [],
  nodeNetworks: [],
}

async function goesOn(here: Workloads): Promise<boolean> {
  const { open } = await here.apply<{ open: boolean }>('state.continueCascades', { rowsMax: 256 })
  return open
}
