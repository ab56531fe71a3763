/** What a drain would do, said beforehand: nothing is written. */
import t, { type Test } from 'tap'
import type { NodeSpec } from '../../../src/domains/nodes/model.ts'
import { driver } from '../../scheduler/cluster.ts'
import { idOf, placedOn, served, type Workloads } from '../allocations/workloads.ts'

type Planned = {
  readonly ID: string
  readonly Action: string
  readonly Reason: string
  readonly NodeName: string
  readonly Metrics: { readonly DimensionExhausted: object | null } | null
}

/** Room for so many tasks of 100 MHz. */
function room(tasks: number): Partial<NodeSpec> {
  const resources = { memoryMb: 8_192, diskMb: 90_000, networks: [], nodeNetworks: [] }
  return {
    drivers: [driver('mock_driver')],
    resources: { cpuMhz: tasks * 100 + 50, ...resources },
    reserved: { cpuMhz: 0, memoryMb: 0, diskMb: 0, ports: '' },
  }
}

async function busy(t: Test, elsewhere: readonly number[]) {
  const { server, here } = await served(t)
  const node = await here.node(1, room(10))
  for (const [at, tasks] of elsewhere.entries()) await here.node(at + 2, room(tasks))
  const plan = async (query = ''): Promise<ReadonlyMap<number, Planned>> => {
    const before = here.machine.appliedIndex
    const answer = await server.ask('GET', `/v1/node/${node}/drain/plan${query}`)
    t.equal(answer.status, 200, answer.body)
    t.equal(here.machine.appliedIndex, before, 'nothing is written')
    const { Allocations } = answer.json() as { readonly Allocations: readonly Planned[] }
    return new Map(Allocations.map((one) => [Number(one.ID.slice(-12)), one]))
  }
  return { server, here, node, plan }
}

async function run(
  here: Workloads,
  node: string,
  numbers: readonly number[],
  { id, type = 'service' }: { readonly id: string; readonly type?: 'service' | 'batch' | 'system' },
) {
  const job = await here.plant(id, type)
  const place = numbers.map((number, at) => placedOn(job, node, number, { name: `${id}.g[${at}]` }))
  t.same((await here.plan(job, { place })).refused, [])
  if (numbers.length > 1) await here.count(id, numbers.length)
}

void t.test('each allocation: where it goes, or why it does not', async (t) => {
  const { here, node, plan } = await busy(t, [4])
  await run(here, node, [0, 1], { id: 'web' })
  await run(here, node, [2], { id: 'crunch', type: 'batch' })
  await run(here, node, [3], { id: 'agent', type: 'system' })
  const planned = await plan()
  for (const number of [0, 1]) {
    t.match(planned.get(number), {
      Action: 'move',
      NodeName: 'box2',
      Reason: 'of its group 1 at a time move',
      Metrics: null,
    })
  }
  t.match(planned.get(2), { Action: 'end', Reason: /may run to its end/, NodeName: '' })
  t.match(planned.get(3), { Action: 'stop', Reason: /once all other work is gone/ })
  const forced = await plan('?force=true&ignore_system_jobs=true')
  t.match(forced.get(0), { Action: 'move' })
  t.match(forced.get(2), { Action: 'stop', Reason: /not begun again/ })
  t.match(forced.get(3), { Action: 'stay' })
})

void t.test('what has no place says why; jobs do not get one place twice', async (t) => {
  const { here, node, plan } = await busy(t, [2])
  await run(here, node, [0, 1, 2], { id: 'web' })
  const planned = await plan()
  const actions = [...planned.values()].map(({ Action }) => Action)
  t.same(actions.toSorted(), ['move', 'move', 'wait'])
  const stranded = [...planned.values()].find(({ Action }) => Action === 'wait')
  t.match(stranded, { Reason: /no other node has a place/, NodeName: '' })
  t.match(stranded?.Metrics, { DimensionExhausted: { cpu: 1 } })

  const two = await busy(t, [1])
  await run(two.here, two.node, [0], { id: 'one' })
  await run(two.here, two.node, [1], { id: 'two' })
  const both = [...(await two.plan()).values()].map(({ Action }) => Action)
  t.same(both.toSorted(), ['move', 'wait'])
})

void t.test('a node without work, and one that is not there', async (t) => {
  const { server, plan } = await busy(t, [])
  t.same(await plan(), new Map())
  const unknown = await server.ask('GET', `/v1/node/${idOf('none', 1)}/drain/plan`)
  t.equal(unknown.status, 404)
  t.equal((await server.ask('GET', '/v1/node/12/drain/plan')).status, 400)
})
