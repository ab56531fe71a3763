/** `muster node`. */
import t from 'tap'
import { computedClassOf } from '../../src/domains/nodes/computed-class.ts'
import { registerNode } from '../../src/domains/nodes/commands.ts'
import type { ServerOfOne } from '../domains/server-of-one.ts'
import { specOf } from '../domains/nodes/spec.ts'
import { standIn } from './api-stand-in.ts'
import { serverForCli } from './server-for-cli.ts'
import { run } from './terminal.ts'

const box = '11111111-2222-4333-8444-555555555555'
const other = '11aaaaaa-2222-4333-8444-555555555555'

async function register(
  server: ServerOfOne,
  id: string,
  name: string,
  more: Parameters<typeof specOf>[1] = {},
) {
  const spec = specOf(name, more)
  const args = {
    id,
    spec,
    secretHash: 'a'.repeat(64),
    computedClass: computedClassOf(spec),
    nowMs: 1,
  }
  await server.propose({ type: registerNode.type, args })
}

void t.test('client nodes are listed, shown, and found by the front of their ids', async (t) => {
  const { muster, server } = await serverForCli(t)
  t.match(await muster('node status'), { code: 0, out: '', err: 'No nodes found\n' })
  await register(server, box, 'box')
  await register(server, other, 'other')
  const list = await muster('node status')
  t.match(list.out, /^ID +DC +Name +Class +Drain +Eligibility +Status\n11111111 +dc1 +box +fast /)
  t.match((await muster('node status -verbose')).out, new RegExp(`\\n${box} `))
  t.match(await muster(['node', 'status', '-filter', 'Name == other', '-t', '{{len .}}']), {
    out: '1\n',
  })
  const shown = await muster('node status 111')
  t.match(shown.out, /Name += box\n/, 'an odd number of digits is sorted out')
  t.match(shown.out, /Cluster +Node registered\n/)
  t.match((await muster(`node status -verbose ${box}`)).out, /cpu\.arch += amd64\n/)
  t.match(JSON.parse((await muster('node status -json 11aa')).out), { ID: other })
  t.match(await muster('node status 11'), {
    code: 1,
    err: /2 nodes have an id that begins with "11"/,
  })
  t.match(await muster('node status 99'), { code: 1, err: /no node has an id that begins/ })
  t.match(await muster('node status nobody'), { code: 1, err: /is no id: those of nodes have/ })
  t.match(await muster('node status -self'), { code: 1, err: /is a server/ })
  t.match((await muster('node meta 111')).out, 'rack = r1\n')
})

void t.test('a driver that runs nothing is shown with the reason', async (t) => {
  const { muster, server } = await serverForCli(t)
  const told = { attributes: [], detected: true, updateTimeMs: 1 }
  const drivers = [
    { ...told, name: 'exec', healthy: false, healthDescription: 'exec needs root' },
    { ...told, name: 'raw_exec', healthy: true, healthDescription: 'Healthy' },
  ]
  await register(server, box, 'box', { drivers })
  t.match((await muster('node status 111')).out, /Drivers += exec \(unhealthy\), raw_exec\n/)
  const { out } = await muster('node status -verbose 111')
  t.match(out, /exec +false +exec needs root\nraw_exec +true +Healthy\n/)
})

void t.test('a drain that is followed says what it waits for', async (t) => {
  const answer = (index: number, Drain: boolean, Waiting: readonly object[]) => ({
    json: { NodeID: box, Drain, Waiting },
    headers: { 'x-service-index': String(index) },
  })
  const waiting = (index: number, Reason: string) =>
    answer(index, true, [{ ID: other, Name: 'web.g[0]', Reason }])
  const { address, asked } = await standIn(t, {
    [`PUT /v1/node/${box}/drain`]: { json: {} },
    [`GET /v1/node/${box}/drain`]: [
      waiting(7, 'it is to move'),
      waiting(8, 'it is to move'),
      waiting(9, 'its agent has not said'),
      answer(10, true, []),
      answer(11, false, []),
    ],
    [`GET /v1/node/${box}`]: { json: { LastDrain: { Status: 'complete' } } },
  })
  const ran = await run(['node', 'drain', '-enable', box], { env: { MUSTER_ADDR: address } })
  t.equal(
    ran.out,
    `Node "${box}" drain strategy set
Allocation 11aaaaaa web.g[0]: it is to move
Allocation 11aaaaaa web.g[0]: its agent has not said
Allocation 11aaaaaa is gone from the node
Node "${box}" drain complete
`,
  )
  t.ok(asked.some(({ url }) => url === `/v1/node/${box}/drain?index=7&wait=45s`))
})

void t.test('eligibility, drains and purges', async (t) => {
  const { muster, server } = await serverForCli(t)
  const duty = server.startDuty('drains')
  t.teardown(() => duty.stop())
  await register(server, box, 'box')
  t.match(await muster('node eligibility 1111'), { code: 2, err: /-enable and -disable/ })
  t.match(await muster('node eligibility -disable 1111'), { code: 0, out: /marked ineligible/ })
  t.match((await muster('node status 1111')).out, /Eligibility += ineligible\n/)
  t.match(await muster('node eligibility -enable 1111'), { code: 0, out: /marked eligible/ })
  t.match(await muster('node drain 1111'), {
    code: 2,
    err: /-enable, -disable, -plan and -monitor/,
  })
  t.match(await muster('node drain -enable -deadline soon 1111'), { code: 2, err: /duration/ })
  t.match(await muster('node drain -enable -force -no-deadline 1111'), { code: 2 })
  t.match(await muster('node drain -enable -meta why=disk 1111'), {
    code: 0,
    out: /drain strategy set\nNode ".*" drain complete\n$/,
  })
  t.match(await muster('node drain -monitor 1111'), { code: 0, out: /drain complete\n$/ })
  t.match(await muster('node drain -disable 1111'), { code: 0, out: /drain strategy unset\n$/ })
  t.match((await muster('node status 1111')).out, /Eligibility += eligible\n/)
  t.match(await muster('node purge 1111'), { code: 0, out: /Purged node/ })
  t.match(await muster('node status'), { err: 'No nodes found\n' })
  t.match(await muster('node config -servers'), { code: 1, err: /this agent is a server/ })
  t.match(await muster('node config'), { code: 2, err: /-servers and -update-servers/ })
})

void t.test('a drain is planned: what moves where, and what has no place and why', async (t) => {
  const planned = (Name: string, Action: string, more: object) => ({
    ID: other,
    Name,
    Namespace: 'default',
    JobID: 'web',
    TaskGroup: 'g',
    Action,
    Reason: `why ${Action}`,
    NodeID: '',
    NodeName: '',
    Metrics: null,
    ...more,
  })
  const Metrics = {
    NodesEvaluated: 2,
    NodesExhausted: 1,
    ConstraintFiltered: { 'kernel = linux': 1 },
    DimensionExhausted: { memory: 1 },
  }
  const stays = planned('agent.g[0]', 'stop', {})
  const moves = planned('web.g[0]', 'move', { NodeID: box, NodeName: 'far' })
  const stranded = planned('web.g[1]', 'wait', { Metrics })
  const { address, asked } = await standIn(t, {
    [`GET /v1/node/${box}/drain/plan`]: [
      { json: { NodeID: box, Allocations: [moves, stranded, stays] } },
      { json: { NodeID: box, Allocations: [moves] } },
      { json: { NodeID: box, Allocations: [] } },
    ],
  })
  const muster = (words: string) => run(words.split(' '), { env: { MUSTER_ADDR: address } })
  t.match(await muster(`node drain -plan -force ${box}`), {
    code: 1,
    out: `ID        Name        Plan      To      Reason
11aaaaaa  web.g[0]    moves     far     why move
11aaaaaa  web.g[1]    no place  <none>  why wait
11aaaaaa  agent.g[0]  stops     <none>  why stop

No place for web.g[1]
  * Constraint "kernel = linux" rules out 1 node
  * 1 node without room: memory
`,
  })
  t.match(asked[0]?.url, /force=true&ignore_system_jobs=false$/)
  t.match(await muster(`node drain -plan ${box}`), { code: 0 })
  t.match(await muster(`node drain -plan ${box}`), { code: 0, out: 'Nothing runs on the node\n' })
  t.match(await muster(`node drain -enable -json ${box}`), { code: 2, err: /go with -plan/ })
})
