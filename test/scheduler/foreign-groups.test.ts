/** A deployment and the groups of its job that are none of it. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import { allocationRow, decide, jobSpec, nodeRow, scheduledJob, type World } from './cluster.ts'
import { deploymentRow } from './worlds.ts'

const nodes = [nodeRow(1), nodeRow(2)]
const deployment = {
  ...deploymentRow({ jobVersion: 1, status: 'running', desiredCanaries: 0, promoted: false }),
}
const about = { jobVersion: 1, index: 0 }
const web = allocationRow(0, { ...about, deploymentId: deployment.id })
/** Nobody judges it. */
const api = allocationRow(1, { ...about, group: 'api', name: 'job.api[0]', health: null })

/** The group `web` is of the deployment, and `api` is not. */
function world(Type: 'service' | 'system', rows: readonly AllocationRow[], MaxParallel = 0): World {
  const group = { Count: 1, Tasks: [{ Name: 'main', Driver: 'mock_driver' }] }
  const spec = (version: string) =>
    jobSpec({
      Type,
      TaskGroups: [
        { ...group, Name: 'web', Update: { MaxParallel: 1 } },
        { ...group, Name: 'api', Meta: { version }, Update: { MaxParallel } },
      ],
    })
  const job = scheduledJob(spec('1'), { version: 1 })
  const on = Type === 'system' ? nodes.slice(0, 1) : nodes
  return { nodes: on, job, specs: [spec('0'), spec('1')], deployment, allocations: rows }
}

const ends = (of: World) => decide(of).deployment.ends.map(({ status }) => status)

for (const type of ['service', 'system'] as const) {
  t.test(`a deployment of a ${type} job ends, whatever is known of other groups`, async (t) => {
    t.same(ends(world(type, [web, api])), ['successful'])
    t.same(ends(world(type, [web, api], 1)), ['successful'])
    const failed = { ...api, clientStatus: 'failed' as const, modifyMs: 1_000_000 }
    t.same(ends({ ...world(type, [web, failed]), triggeredBy: 'alloc-failure' }), ['successful'])
    t.same(ends(world(type, [{ ...web, health: null }, api])), [])
    // Nothing else would have it looked at again once it may be replaced.
    t.same(ends(world(type, [web, { ...api, jobVersion: 0 }])), [])
  })
}

t.test('a deployment of a system job does not end by groups that are none of it', async (t) => {
  const before = world('system', [api])
  const spec = before.job?.spec
  if (spec === undefined) throw new Error('there is one')
  const noNode = [{ LTarget: '${node.class}', RTarget: 'none', Operand: '=' }]
  const [first, ...others] = spec.TaskGroups
  if (first === undefined) throw new Error('there are two')
  const after = { ...spec, TaskGroups: [{ ...first, Constraints: noNode }, ...others] }
  const job = scheduledJob(after, { version: 1 })
  t.same(ends({ ...before, job, specs: [after, after] }), [])
})
