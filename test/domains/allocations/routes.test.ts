/** Allocations over HTTP: read, listed and stopped. */
import t, { type Test } from 'tap'
import { idOf, nowMs, placedOn, served } from './workloads.ts'

const [first, second] = [idOf('allo', 0), idOf('allo', 1)]

type Shown = Readonly<Record<string, unknown>>

async function withAllocations(t: Test, options = {}) {
  const { server, here } = await served(t, options)
  const node = await here.node(1)
  const job = await here.plant()
  await here.plan(job, {
    place: [placedOn(job, node, 0, { ports: [8_080] }), placedOn(job, node, 1)],
  })
  const event = { type: 'Started', timeNs: '1700000000000000001', message: '', displayMessage: 'x' }
  const state = { task: 'main', state: 'running', failed: false, restarts: 0, startedMs: nowMs }
  const report = {
    id: first,
    clientStatus: 'running',
    clientDescription: '',
    tasks: [
      {
        ...state,
        finishedMs: null,
        lastRestartMs: null,
        events: [{ ...event, details: [['exit_code', '3']] }],
      },
    ],
    health: { healthy: true, timeMs: nowMs },
  }
  await here.apply('allocations.reported', { reports: [{ node, report }], nowMs })
  const get = async (url: string) => {
    const answer = await server.ask('GET', url)
    t.equal(answer.status, 200, answer.body)
    return { json: answer.json(), index: Number(answer.headers['x-service-index']) }
  }
  return { server, here, node, job, get }
}

void t.test('the whole record has its job, resources and tasks, and no empty links', async (t) => {
  const { get, node, job } = await withAllocations(t)
  const { json, index } = await get(`/v1/allocation/${first}`)
  t.match(json, {
    ID: first,
    Name: 'web.g[0]',
    NodeID: node,
    EvalID: job.evaluation,
    ClientStatus: 'running',
    DesiredStatus: 'run',
    DeploymentStatus: { Healthy: true },
    Job: {
      ID: 'web',
      Version: 0,
      Status: 'running',
      TaskGroups: [{ Name: 'g', Tasks: [{ Vault: null }] }],
      VaultToken: '',
    },
    Resources: { CPU: 100, MemoryMB: 10, DiskMB: 10 },
    AllocatedResources: { Shared: { Ports: [{ Label: 'http', Value: 8_080 }] } },
    TaskStates: { main: { State: 'running', Events: [{ Type: 'Started', ExitCode: 3 }] } },
    ModifyIndex: index,
  })
  for (const name of ['NextAllocation', 'PreviousAllocation', 'FollowupEvalID']) {
    t.notOk(name in (json as object), name)
  }
})

void t.test('fields of an event have what its details or its message say', async (t) => {
  type Told = readonly [type: string, message: string, details: readonly (readonly string[])[]]
  const told: readonly (readonly [told: Told, shown: object])[] = [
    [['Sibling Task Failed', 'x', [['failed_sibling', 'b']]], { FailedSibling: 'b' }],
    [['Killing', 'x', [['kill_timeout', '1m5s']]], { KillTimeout: 65e9, KillReason: '' }],
    [['Killing', 'no server answered', []], { KillTimeout: 0, KillReason: 'no server answered' }],
    [['Restarting', 'x', [['start_delay', '15000000000']]], { StartDelay: 15e9 }],
    [['Driver Failure', 'no image', []], { DriverError: 'no image', SetupError: '' }],
    [['Driver', 'pulling', []], { DriverMessage: 'pulling' }],
    [['Failed Artifact Download', 'a 404', []], { DownloadError: 'a 404' }],
    [['Failed Validation', 'no command', []], { ValidationError: 'no command', DriverError: '' }],
    [['Setup Failure', 'no user', []], { SetupError: 'no user', DriverError: '' }],
    [['Restart Signaled', 'asked', []], { RestartReason: 'asked' }],
    [
      ['Signaling', 'x', [['task_signal_reason', 'Template re-rendered']]],
      { TaskSignalReason: 'Template re-rendered', TaskSignal: '' },
    ],
  ]
  const { get, here, node } = await withAllocations(t)
  const events = told.map(([[type, message, details]]) => {
    return { type, timeNs: '1', message, displayMessage: message, details }
  })
  const times = { startedMs: nowMs, finishedMs: null, lastRestartMs: null }
  const state = { state: 'running', failed: false, restarts: 0, ...times }
  // A state has at most ten events.
  const tasks = [
    { task: 'main', ...state, events: events.slice(0, 10) },
    { task: 'side', ...state, events: events.slice(10) },
  ]
  const words = { clientStatus: 'running', clientDescription: '', health: null }
  const report = { id: second, tasks, ...words }
  await here.apply('allocations.reported', { reports: [{ node, report }], nowMs })
  const shown = told.map(([, expected]) => expected)
  t.match((await get(`/v1/allocation/${second}`)).json, {
    TaskStates: { main: { Events: shown.slice(0, 10) }, side: { Events: shown.slice(10) } },
  })
})

void t.test('lists: all, of a job, of an evaluation, of a node', async (t) => {
  const { get, node, job, here } = await withAllocations(t)
  const { appliedIndex } = here.machine
  const ids = (json: unknown) => (json as Shown[]).map(({ ID }) => ID)
  const paths = [
    '/v1/allocations',
    '/v1/allocations?namespace=*&prefix=616c',
    '/v1/job/web/allocations',
    `/v1/evaluation/${job.evaluation}/allocations`,
    `/v1/node/${node}/allocations`,
  ]
  for (const path of paths) {
    const { json, index } = await get(path)
    t.strictSame(ids(json), [first, second], path)
    t.equal(index, appliedIndex, path)
  }
  const { json } = await get('/v1/allocations')
  t.match(json, [{ JobType: 'service', JobVersion: 0, NextAllocation: '' }, {}])
  t.notOk('Job' in ((json as object[])[0] ?? {}))
  const filter = encodeURIComponent('ClientStatus == "running"')
  t.strictSame(ids((await get(`/v1/allocations?filter=${filter}`)).json), [first])
  const whole = (await get(`/v1/allocation/${first}`)).json as Shown
  const fields = [
    `CreateTime == ${nowMs}000000 and ModifyTime == ${nowMs}000000`,
    'NextAllocation == "" and PreviousAllocation == "" and DeploymentID == ""',
    'FollowupEvalID == ""',
    'DeploymentStatus.Healthy == true',
  ]
  const fitting = encodeURIComponent(fields.join(' and '))
  t.strictSame(ids((await get(`/v1/allocations?filter=${fitting}`)).json), [first])
  const { AllocatedResources } = whole
  const more = (await get('/v1/allocations?resources=true&task_states=false')).json
  t.match(more, [{ AllocatedResources, TaskStates: null }, {}])
  t.strictSame((await get('/v1/allocations?resources=false&task_states=true')).json, json)
  t.strictSame(ids((await get('/v1/allocations?per_page=1')).json), [first])
  t.strictSame((await get('/v1/job/none/allocations')).json, [])
  await here.apply('test.purgeJob', { id: 'web' })
  t.strictSame(ids((await get('/v1/job/web/allocations')).json), [first, second])
  await here.plant('web')
  t.strictSame((await get('/v1/job/web/allocations')).json, [], 'of the job that has the id now')
  t.strictSame(ids((await get('/v1/job/web/allocations?all=true')).json), [first, second])
  t.strictSame((await get(`/v1/node/${idOf('none', 0)}/allocations`)).json, [])
})

void t.test('ports that the group wants by their numbers are told from the others', async (t) => {
  const { server, here } = await served(t)
  const node = await here.node(1)
  const ReservedPorts = [{ Label: 'http', Value: 8_080, To: 0, HostNetwork: 'default' }]
  const job = await here.plant('web', 'service', { Networks: [{ ReservedPorts }] })
  const port = (label: string, value: number) => ({ label, value, to: 0, address: '10.0.0.7' })
  const { resources, ...placed } = placedOn(job, node, 0)
  const ports = [port('http', 8_080), port('admin', 20_001)]
  await here.plan(job, {
    place: [
      { ...placed, resources: { ...resources, ports } },
      placedOn(job, node, 1, { ports: [8_081] }),
      placedOn(job, node, 2),
    ],
  })
  const Networks = [
    {
      ReservedPorts: [{ Label: 'http', Value: 8_080, To: 0 }],
      DynamicPorts: [{ Label: 'admin', Value: 20_001, To: 0 }],
    },
  ]
  const whole = (await server.ask('GET', `/v1/allocation/${first}`)).json()
  t.match(whole, { Resources: { Networks }, SharedResources: { Networks } })
  t.match(whole, { AllocatedResources: { Shared: { Networks } } })
  const list = (await server.ask('GET', '/v1/allocations?resources=true')).json()
  t.match(list, [
    { AllocatedResources: { Shared: { Networks } } },
    { AllocatedResources: { Shared: { Networks: [{ DynamicPorts: null }] } } },
    { AllocatedResources: { Shared: { Networks: null } } },
  ])
})

void t.test('what is no id is refused, what is not there is not found', async (t) => {
  const { server } = await withAllocations(t)
  const status = async (url: string) => (await server.ask('GET', url)).status
  t.equal(await status('/v1/allocation/61'), 400)
  t.equal(await status('/v1/allocations?prefix=616'), 400)
  t.equal(await status(`/v1/allocation/${idOf('none', 0)}`), 404)
  t.equal(await status('/v1/node/x/allocations'), 400)
  t.equal((await server.ask('PUT', `/v1/allocation/${idOf('none', 0)}/stop`)).status, 404)
})

void t.test('a stop marks it once, and has its job looked at each time', async (t) => {
  const { server, here, node } = await withAllocations(t)
  const stop = async () => {
    const answer = await server.ask('POST', `/v1/allocation/${first}/stop`)
    t.equal(answer.status, 200, answer.body)
    return answer.json() as { readonly EvalID: string; readonly Index: number }
  }
  const { EvalID, Index } = await stop()
  t.match(here.evaluation(EvalID), { triggeredBy: 'alloc-stop', jobId: 'web', status: 'pending' })
  t.match(here.allocation(first), { migrate: true, desiredStatus: 'run', allocModifyIndex: Index })
  const again = await stop()
  t.match(here.evaluation(again.EvalID), {
    jobId: 'web',
    status: 'pending',
    createIndex: again.Index,
  })
  t.not(again.EvalID, EvalID)
  t.equal(here.allocation(first)?.allocModifyIndex, Index, 'it is marked already')
  const hasty = await server.ask('POST', `/v1/allocation/${first}/stop?no_shutdown_delay=true`)
  t.match(hasty.json(), { EvalID: /./ })
  const { body } = await server.ask('GET', `/v1/allocation/${first}`)
  t.match(JSON.parse(body), { DesiredTransition: { Migrate: true, NoShutdownDelay: true } })
  const ended = {
    id: first,
    clientStatus: 'complete',
    clientDescription: '',
    tasks: [],
    health: null,
  }
  await here.apply('allocations.reported', { reports: [{ node, report: ended }], nowMs })
  t.match(here.evaluation((await stop()).EvalID), { jobId: 'web', status: 'pending' })
  await server.ask('DELETE', '/v1/job/web?purge=true')
  t.equal((await stop()).EvalID, '', 'its job is gone')
})

void t.test('tokens see allocations of the namespaces whose jobs they may read', async (t) => {
  const { server, here } = await withAllocations(t, { acl: { enabled: true } })
  const root = ((await server.ask('PUT', '/v1/acl/bootstrap')).json() as Shown)['SecretID']
  const tokenWith = async (name: string, rules: string) => {
    await server.ask('PUT', `/v1/acl/policy/${name}`, { Rules: rules }, String(root))
    const token = { Name: name, Type: 'client', Policies: [name] }
    return (await server.ask('PUT', '/v1/acl/token', token, String(root))).json() as Shown
  }
  const reads = await tokenWith('reads', 'namespace "default" { policy = "read" }')
  const other = await tokenWith('other', 'namespace "other" { policy = "write" }')
  const asked = async (method: string, url: string, token: Shown) => {
    const { status, body } = await server.ask(method, url, undefined, String(token['SecretID']))
    return status === 200 ? JSON.parse(body) : status
  }
  t.match(await asked('GET', '/v1/allocations', reads), { length: 2 })
  t.same(await asked('GET', '/v1/allocations', other), [])
  t.match(await asked('GET', `/v1/allocation/${first}`, reads), { ID: first })
  t.equal(await asked('GET', `/v1/allocation/${first}`, other), 403)
  t.equal(await asked('GET', '/v1/job/web/allocations', other), 403)
  t.equal(await asked('PUT', `/v1/allocation/${first}/stop`, reads), 403)
  t.equal(here.allocation(first)?.migrate, false)
})
