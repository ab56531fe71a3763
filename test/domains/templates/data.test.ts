/** What agents are told for the templates of their tasks: what those may have, when it changes, and nothing of other nodes' jobs. */
import t, { type Test } from 'tap'
import type { DataReply } from '../../../src/domains/templates/model.ts'
import { dataWatches } from '../../../src/domains/templates/services.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { idOf, placedOn, served } from '../allocations/workloads.ts'
import { openAgent } from '../nodes/agent.ts'
import { specOf } from '../nodes/spec.ts'
import type { ServerOfOneOptions } from '../server-of-one.ts'

const allocation = idOf('allo', 0)
const own = 'nomad/jobs/web/g/main'

type Asked = { readonly type: string; readonly path: string; readonly tag?: string }

async function agentOf(t: Test, port: number, number: number, token: string | null = null) {
  const nodeId = idOf('node', number)
  const agent = await openAgent(t, port, { nodeId, name: `box${number}`, token })
  await agent.ask('nodes.register', { spec: specOf(`box${number}`) })
  const data = async (wants: readonly Asked[], more: object = {}) => {
    const args = {
      index: 0,
      waitMs: 0,
      wants: wants.map(({ type, path, tag = '' }) => ({
        allocation,
        task: 'main',
        dependency: { type, path },
        tag,
      })),
      ...more,
    }
    return (await agent.ask('templates.data', args)) as DataReply
  }
  return { nodeId, agent, data }
}

/** Variables are sealed by a key. */
async function withKeyring(t: Test, options: ServerOfOneOptions = {}) {
  const made = await served(t, options)
  const duty = made.server.startDuty('keyring')
  t.teardown(() => duty.stop())
  return made
}

/** A job of one allocation, at the first of two nodes. */
async function setting(t: Test) {
  const { server, here } = await withKeyring(t)
  const port = await server.listen()
  const one = await agentOf(t, port, 1)
  const other = await agentOf(t, port, 2)
  await here.status(one.nodeId, 'ready')
  const job = await here.plant()
  await here.plan(job, { place: [placedOn(job, one.nodeId, 0)] })
  return { server, here, one, other }
}

t.test('a task has its variables, and keys and services where all have them', async (t) => {
  const { server, one } = await setting(t)
  await server.ask('PUT', `/v1/var/${own}`, { Items: { password: 'x' } })
  await server.ask('PUT', '/v1/kv/app/color', 'blue')
  await server.ask('PUT', '/v1/kv/app/deep/size', '3')
  const service = { ID: 'db1', Service: 'db', Port: 5432, Tags: ['a'] }
  const node = { Node: 'n1', Address: '192.0.2.1', Service: service }
  await server.ask('PUT', '/v1/catalog/register', node)
  const { answers } = await one.data([
    { type: 'variable', path: own },
    { type: 'variable', path: 'nomad/jobs' },
    { type: 'key', path: 'app/color' },
    { type: 'key', path: 'none' },
    { type: 'keys', path: 'app/' },
    { type: 'service', path: 'db' },
  ])
  t.match(
    answers.map(({ answer }) => answer),
    [
      { type: 'variable', items: [['password', 'x']] },
      { type: 'none' },
      { type: 'key', value: 'blue' },
      { type: 'none' },
      {
        type: 'keys',
        pairs: [
          ['color', 'blue'],
          ['deep/size', '3'],
        ],
      },
      { type: 'service', instances: [{ id: 'db1', address: '192.0.2.1', port: 5432 }] },
    ],
  )
  const check = { CheckID: 'c', Name: 'c', Status: 'critical', ServiceID: 'db1' }
  await server.ask('PUT', '/v1/catalog/register', { ...node, Check: check })
  const [failing] = (await one.data([{ type: 'service', path: 'db' }])).answers
  t.match(failing?.answer, { type: 'service', instances: [] })
})

t.test('variables of other jobs, and of jobs of other nodes, are refused', async (t) => {
  const { server, here, one, other } = await setting(t)
  for (const path of [own, 'nomad/jobs/other', 'secret']) {
    await server.ask('PUT', `/v1/var/${path}`, { Items: { password: 'x' } })
  }
  const refusal = async (from: typeof one, path: string) =>
    (await from.data([{ type: 'variable', path }])).answers[0]?.answer
  t.match(await refusal(one, 'nomad/jobs/other'), { type: 'refused', reason: /may read/ })
  t.match(await refusal(one, 'secret'), { type: 'refused' })
  t.match(await refusal(other, own), { type: 'refused', reason: 'the node runs no such task' })
  const { answers } = await one.data([{ type: 'variable', path: own }])
  t.match(answers, [{ answer: { type: 'variable' } }])
  const ended = { clientDescription: '', tasks: [], health: null, clientStatus: 'complete' }
  await one.agent.ask('allocations.report', { reports: [{ ...ended, id: allocation }] })
  t.equal(here.allocation(allocation)?.clientStatus, 'complete')
  t.match(await refusal(one, own), { type: 'refused' }, 'it has ended')
})

t.test('an agent waits for a change of what it knows, and of that alone', async (t) => {
  const { server, one } = await setting(t)
  const asked = { type: 'key', path: 'app/color' }
  const first = await one.data([asked])
  const tag = first.answers[0]?.tag ?? ''
  const waits = one.data([{ ...asked, tag }], { index: first.index, waitMs: 4_000 })
  const watches = server.services.get(dataWatches)
  await eventuallyTrue('it waits', () => watches.waitingCount === 1)
  await server.ask('PUT', '/v1/kv/app/other', 'x')
  t.equal(watches.waitingCount, 1)
  await server.ask('PUT', '/v1/kv/app/color', 'red')
  t.match((await waits).answers, [{ at: 0, answer: { type: 'key', value: 'red' } }])
  const again = one.data([{ ...asked, tag }], { waitMs: 1 })
  t.match((await again).answers, [{ answer: { value: 'red' } }], 'by the tag alone')
})

t.test('a call that waits is answered when the agent asks again', async (t) => {
  const { server, one } = await setting(t)
  const asked = { type: 'variable', path: own }
  const tag = (await one.data([asked])).answers[0]?.tag ?? ''
  const waits = one.data([{ ...asked, tag }], { waitMs: 30_000 })
  const watches = server.services.get(dataWatches)
  await eventuallyTrue('it waits', () => watches.waitingCount === 1)
  t.match(await one.data([{ ...asked, tag }], { waitMs: 0 }), { answers: [] })
  t.match(await waits, { answers: [] })
  await eventuallyTrue('nothing is left', () => watches.waitingCount === 0)
})

t.test(
  'with access control, keys and services are those of a caller without a token',
  async (t) => {
    const { server, here } = await withKeyring(t, {
      acl: { enabled: true, defaultPolicy: 'deny' },
    })
    const port = await server.listen()
    const bootstrap = (await server.ask('PUT', '/v1/acl/bootstrap')).json() as { SecretID: string }
    const token = bootstrap.SecretID
    const one = await agentOf(t, port, 1, token)
    await here.status(one.nodeId, 'ready')
    const job = await here.plant()
    await here.plan(job, { place: [placedOn(job, one.nodeId, 0)] })
    const manage = (method: string, url: string, body: unknown) =>
      server.ask(method, url, body, token)
    await manage('PUT', `/v1/var/${own}`, { Items: { password: 'x' } })
    await manage('PUT', '/v1/kv/app/color', 'blue')
    const wants = [
      { type: 'variable', path: own },
      { type: 'key', path: 'app/color' },
      { type: 'keys', path: 'app/' },
      { type: 'service', path: 'db' },
    ]
    const { answers, index } = await one.data(wants)
    t.match(
      answers.map(({ answer }) => answer),
      [
        { type: 'variable' },
        { type: 'refused', reason: /a caller without one lacks 'key:read'/ },
        { type: 'keys', pairs: [] },
        { type: 'refused', reason: /'service:read'/ },
      ],
    )
    const known = wants.map((want, at) => ({ ...want, tag: answers[at]?.tag ?? '' }))
    const waits = one.data(known, { index, waitMs: 4_000 })
    const watches = server.services.get(dataWatches)
    await eventuallyTrue('it waits', () => watches.waitingCount === 1)
    const rules = 'key_prefix "app/" { policy = "read" }'
    const { status, body } = await manage('PUT', '/v1/acl/policy/anonymous', { Rules: rules })
    t.equal(status, 200, body)
    const shown = (await waits).answers.map(({ answer }) => answer)
    t.match(shown, [{ type: 'key' }, { type: 'keys', pairs: [['color', 'blue']] }])
  },
)

t.test('what an agent asks for is bounded', async (t) => {
  const { one } = await setting(t)
  const wants = Array.from({ length: 513 }, (_, at) => ({ type: 'key', path: `k${at}` }))
  await t.rejects(one.data(wants), { code: 'invalid_argument' })
  await t.rejects(one.data([{ type: 'key', path: 'k'.repeat(2_000) }]), {
    code: 'invalid_argument',
  })
  await t.rejects(one.data([{ type: 'secret', path: 'k' }]), { code: 'invalid_argument' })

  const flood = async () => {
    for (let call = 0; call < 100; call += 1) await one.data([{ type: 'key', path: 'k' }])
  }
  await t.rejects(flood(), { code: 'rate_limited' })
})

t.test('a folder with too many keys is refused, whoever may read them', async (t) => {
  const { here, one } = await setting(t)
  for (let at = 0; at < 1_100; at += 50) {
    const operations = Array.from({ length: 50 }, (_, more) => ({
      type: 'set',
      namespace: 'default',
      key: `app/k${at + more}`,
      value: Buffer.of(1),
      flags: '0',
    }))
    await here.apply('kv.write', { operations, fence: null, nowMs: 1_000 })
  }
  const { answers } = await one.data([{ type: 'keys', path: 'app/' }])
  t.match(answers, [{ answer: { type: 'refused', reason: 'over 1024 keys are below it' } }])
})
