/** Groups with bounds of their counts, and the policies that an autoscaler reads. */
import t, { type Test } from 'tap'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'
import { guarded } from './guarded.ts'
import { jobWith, type Json } from './job-drafts.ts'

const Policy = { cooldown: '1m', check: [{ load: [{ target: 70 }] }] }

function scaled(scaling: Json | null = {}, job: Json = {}): Json {
  const Scaling = scaling === null ? {} : { Scaling: { Min: 1, Max: 5, Policy, ...scaling } }
  return jobWith(job, { Count: 2, ...Scaling })
}

type Listed = {
  readonly ID: string
  readonly Target: { readonly Namespace: string; readonly Job: string; readonly Group: string }
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

async function setting(t: Test) {
  const server = await serverOfOne(t)
  const register = async (job: Json, query = ''): Promise<void> => {
    const answer = await server.ask('PUT', `/v1/jobs${query}`, { Job: job })
    t.equal(answer.status, 200, answer.body)
  }
  return { server, register, list: (query = '') => listOf(server, query) }
}

async function listOf(server: ServerOfOne, query: string): Promise<readonly Listed[]> {
  return (await server.ask('GET', `/v1/scaling/policies${query}`)).json() as readonly Listed[]
}

t.test('the policy of a group is listed and read', async (t) => {
  const { server, register, list } = await setting(t)
  t.same(await list(), [])
  await register(scaled())
  await register(jobWith({ ID: 'plain' }))
  const [policy] = await list()
  const shown = {
    ID: /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    Enabled: true,
    Type: 'horizontal',
    Target: { Namespace: 'default', Job: 'web', Group: 'g' },
  }
  t.match(policy, shown)
  const answer = await server.ask('GET', `/v1/scaling/policy/${policy?.ID.toUpperCase()}`)
  t.match(answer.json(), { ...shown, Policy, Min: 1, Max: 5 })
  t.equal(Number(answer.headers['x-service-index']), policy?.ModifyIndex)
  t.match((await server.ask('GET', '/v1/job/web')).json(), {
    TaskGroups: [{ Scaling: { Enabled: true, Type: 'horizontal', Min: 1, Max: 5, Policy } }],
  })
  const none = await server.ask('GET', '/v1/scaling/policy/00000000-0000-4000-8000-000000000000')
  t.match(none, { status: 404, body: 'policy not found' })
  t.match(await server.ask('GET', '/v1/scaling/policy/abc'), { status: 400, body: /whole UUID/ })
})

t.test('the smallest count is the count where nothing is said', async (t) => {
  const { server, register } = await setting(t)
  await register(jobWith({}, { Count: 2, Scaling: { Max: 5 } }))
  t.match((await server.ask('GET', '/v1/job/web')).json(), {
    TaskGroups: [{ Scaling: { Min: 2, Max: 5, Policy: {} } }],
  })
})

t.test('lists are of a namespace, a job, a type, a front of ids, and come in pages', async (t) => {
  const { server, register, list } = await setting(t)
  await server.ask('PUT', '/v1/namespace/team', { Name: 'team' })
  const groups = ['a', 'b'].map((Name) => ({
    Name,
    Scaling: { Max: 3 },
    Tasks: [{ Name: 't', Driver: 'exec' }],
  }))
  await register(scaled())
  await register(jobWith({ ID: 'webs', TaskGroups: groups }))
  await register(scaled({ Enabled: false }), '?namespace=team')
  const targets = async (query: string) =>
    (await list(query)).map((one) => {
      const { Namespace, Job, Group } = one.Target
      return `${Namespace}/${Job}/${Group}`
    })
  t.same(await targets(''), ['default/web/g', 'default/webs/a', 'default/webs/b'])
  t.same(await targets('?job=webs'), ['default/webs/a', 'default/webs/b'])
  t.same(await targets('?namespace=team'), ['team/web/g'])
  t.equal((await targets('?namespace=*')).length, 4)
  t.same(await targets('?namespace=*&job=web'), ['default/web/g', 'team/web/g'])
  t.same(await targets('?namespace=*&filter=Enabled+==+false'), ['team/web/g'])
  t.equal((await targets('?type=horizontal')).length, 3)
  t.same(await targets('?type=vertical_mem'), [])
  const [first, second] = await list()
  t.same(await list(`?prefix=${first?.ID.slice(0, 18)}`), [first])
  const page = await server.ask('GET', '/v1/scaling/policies?per_page=1')
  const token = String(page.headers['x-service-nexttoken'])
  t.match(await list(`?per_page=1&next_token=${encodeURIComponent(token)}`), [second])
  const other = (await list('?namespace=team'))[0]?.ID
  t.equal((await server.ask('GET', `/v1/scaling/policy/${other}`)).status, 404)
  t.equal((await server.ask('GET', `/v1/scaling/policy/${other}?namespace=*`)).status, 200)
})

t.test('a policy keeps its id, and moves its index only when it is another one', async (t) => {
  const { server, register, list } = await setting(t)
  await register(scaled())
  const [made] = await list()
  await register(scaled({}, { Priority: 70 }))
  t.same(await list(), [made], 'the job is another one, the policy is not')
  await server.ask('PUT', '/v1/job/web/scale', { Count: 4, Target: { Group: 'g' } })
  t.same(await list(), [made])
  await register(scaled({ Max: 9 }))
  const [changed] = await list()
  t.match(changed, { ID: made?.ID, CreateIndex: made?.CreateIndex })
  t.ok(Number(changed?.ModifyIndex) > Number(made?.ModifyIndex))
  await register(scaled(null))
  t.same(await list(), [])
  await register(scaled())
  const [again] = await list()
  t.equal(again?.ID, made?.ID)
  t.ok(Number(again?.CreateIndex) > Number(changed?.ModifyIndex))
  await server.ask('PUT', '/v1/job/web/revert', { JobVersion: 4 })
  t.same(await list(), [], 'back to the version without one')
})

t.test('a job that is stopped or purged has no policies', async (t) => {
  const { server, register, list } = await setting(t)
  await register(scaled())
  const [made] = await list()
  await server.ask('DELETE', '/v1/job/web')
  t.same(await list(), [])
  t.equal((await server.ask('GET', `/v1/scaling/policy/${made?.ID}`)).status, 404)
  await register(scaled())
  t.match(await list(), [{ ID: made?.ID }])
  await server.ask('DELETE', '/v1/job/web?purge=true')
  t.same(await list(), [])
})

t.test('counts stay within the bounds', async (t) => {
  const { server, register } = await setting(t)
  await register(scaled())
  const scale = (Count: number) =>
    server.ask('PUT', '/v1/job/web/scale', { Count, Target: { Group: 'g' } })
  t.match(await scale(6), {
    status: 400,
    body: 'group count was greater than scaling policy maximum: 6 > 5',
  })
  t.match(await scale(0), {
    status: 400,
    body: 'group count was less than scaling policy minimum: 0 < 1',
  })
  t.match((await server.ask('GET', '/v1/job/web/scale')).json(), {
    TaskGroups: { g: { Desired: 2, Events: [] } },
  })
  t.equal((await scale(5)).status, 200)
  const job = jobWith({}, { Count: 6, Scaling: { Min: 1, Max: 5 } })
  t.match(await server.ask('PUT', '/v1/jobs', { Job: job }), {
    status: 400,
    body: /TaskGroups\[0\]\.Count must be from 1 to 5/,
  })
  await server.ask('DELETE', '/v1/job/web?purge=true')
  await register(scaled({ Max: 3 }))
  const args = {
    namespace: 'default',
    id: 'web',
    group: 'g',
    count: 4,
    error: false,
    message: '',
    meta: '{}',
    enforceIndex: null,
    evaluationId: '00000000-0000-4000-8000-000000000001',
    nowMs: 1,
  }
  const { outcome } = await server.propose({ type: 'jobs.scale', args })
  t.match(outcome, { type: 'outOfBounds' }, 'also where the job changed since it was looked at')
})

t.test('a read of a policy waits for a change of it, and for its end', async (t) => {
  const { server, register, list } = await setting(t)
  await register(scaled())
  const [made] = await list()
  const path = `/v1/scaling/policy/${made?.ID}`
  const changed = server.ask('GET', `${path}?index=${made?.ModifyIndex}&wait=30s`)
  await register(scaled({}, { Priority: 70 }))
  await register(scaled({ Max: 9 }))
  const answer = await changed
  t.match(answer.json(), { Max: 9 })
  const gone = server.ask(
    'GET',
    `${path}?index=${Number(answer.headers['x-service-index'])}&wait=30s`,
  )
  await register(scaled(null))
  t.equal((await gone).status, 404)
})

const rights: readonly (readonly [capabilities: string[], listed: number, read: number])[] = [
  [['list-scaling-policies'], 1, 403],
  [['read-scaling-policy'], 0, 200],
  [['list-jobs', 'read-job'], 1, 200],
  [['read-job'], 0, 403],
  [['list-jobs'], 0, 403],
]

t.test('the rights are list-scaling-policies and read-scaling-policy', async (t) => {
  const { server, admin, tokenWith } = await guarded(t)
  await server.ask('PUT', '/v1/jobs', { Job: scaled() }, admin)
  const all = (await server.ask('GET', '/v1/scaling/policies', undefined, admin)).json()
  const [made] = all as readonly Listed[]
  for (const [capabilities, listed, read] of rights) {
    const token = await tokenWith(...capabilities)
    const shown = (await server.ask('GET', '/v1/scaling/policies', undefined, token)).json()
    t.equal((shown as readonly Listed[]).length, listed, capabilities.join())
    const path = `/v1/scaling/policy/${made?.ID}`
    t.equal((await server.ask('GET', path, undefined, token)).status, read, capabilities.join())
    const anywhere = await server.ask('GET', `${path}?namespace=*`, undefined, token)
    t.equal(anywhere.status, read === 200 ? 200 : 404, capabilities.join())
  }
})
