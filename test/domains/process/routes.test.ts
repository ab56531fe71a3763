/** The agent's endpoints over HTTP: shapes, refusals, and who may ask. */
import t, { type Test } from 'tap'
import type { LogTap } from '../../../src/lib/log.ts'
import type { Requirement } from '../../../src/rpc/method.ts'
import { createLog } from '../../../src/process/logging.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

async function refuses(
  t: Test,
  server: ServerOfOne,
  cases: readonly (readonly [method: string, url: string, status: number, text: RegExp | string])[],
  body?: unknown,
): Promise<void> {
  for (const [method, url, status, text] of cases) {
    const answer = await server.ask(method, url, body)
    t.equal(answer.status, status, `${method} ${url}: ${answer.body}`)
    if (typeof text === 'string') t.equal(answer.body, text, url)
    else t.match(answer.body, text, url)
    t.notMatch(answer.body, '\n', 'one line')
  }
}

t.test('health needs no token, and says which side is not well', async (t) => {
  const server = await serverOfOne(t)
  const ok = await server.ask('GET', '/v1/agent/health')
  t.same([ok.status, ok.json()], [200, { server: { ok: true, message: 'ok' } }])
  const both = await server.ask('GET', '/v1/agent/health?type=server&type=client')
  t.equal(both.status, 500)
  t.same(both.json(), {
    server: { ok: true, message: 'ok' },
    client: { ok: false, message: 'client not enabled' },
  })
  server.leaderIsKnown = false
  const lost = await server.ask('GET', '/v1/agent/health?type=server')
  t.same([lost.status, lost.json()], [500, { server: { ok: false, message: 'no leader' } }])
  t.match(lost.headers, { 'content-type': /^application\/json/ })
  await refuses(t, server, [
    ['GET', '/v1/agent/health?type=x', 400, /type must be client or server, not "x"/],
    ['PUT', '/v1/agent/health', 405, 'Invalid method'],
  ])
})

t.test('health tells what an operator should change although all is well', async (t) => {
  const warning = 'RPC is open'
  const agent = { health: () => ({ side: 'server', problem: null, warning }) as const }
  const server = await serverOfOne(t, { agent })
  const answer = await server.ask('GET', '/v1/agent/health')
  t.same(
    [answer.status, answer.json()],
    [200, { server: { ok: true, message: 'ok', detail: warning } }],
  )
})

t.test('self has configuration, member and figures', async (t) => {
  const server = await serverOfOne(t)
  t.same((await server.ask('GET', '/v1/agent/self')).json(), {
    config: { NodeName: 'one' },
    member: {
      Name: 'one.global',
      Addr: '127.0.0.1',
      Port: 4648,
      Tags: { id: 's1' },
      Status: 'alive',
      ProtocolMin: 1,
      ProtocolMax: 5,
      ProtocolCur: 2,
      DelegateMin: 2,
      DelegateMax: 5,
      DelegateCur: 4,
    },
    stats: { raft: { term: '1' } },
  })
  t.same((await server.ask('GET', '/v1/regions')).json(), ['global'])
})

t.test('a server keeps no list of servers, and says so', async (t) => {
  const server = await serverOfOne(t)
  for (const method of ['GET', 'PUT', 'POST'] as const) {
    const answer = await server.ask(method, '/v1/agent/servers?address=127.0.0.1:4647')
    t.equal(answer.status, 501)
    t.equal(answer.body, 'this agent is a server; only client agents keep a list of servers')
  }
})

t.test('host shows the machine, without its secrets', async (t) => {
  process.env['MUSTER_TEST_TOKEN'] = 'hunter2'
  t.teardown(() => {
    delete process.env['MUSTER_TEST_TOKEN']
  })
  const server = await serverOfOne(t)
  const answer = await server.ask('GET', '/v1/agent/host?server_id=one')
  t.notMatch(answer.body, 'hunter2')
  const { AgentID, HostData } = answer.json() as {
    AgentID: string
    HostData: Record<string, Record<string, unknown>>
  }
  t.equal(AgentID, 'one.global')
  t.same(Object.keys(HostData), ['OS', 'Network', 'ResolvConf', 'Hosts', 'Environment', 'Disk'])
  t.equal(HostData['Environment']?.['MUSTER_TEST_TOKEN'], '<redacted>')
  t.match(HostData['Disk']?.['/'], { DiskMB: Number, UsedMB: Number })
  t.match(HostData['Network'], [{ name: String, address: String }])
})

const node = '11111111-2222-3333-4444-555555555555'

t.test('a target is one server or one node, and must exist', async (t) => {
  const server = await serverOfOne(t, { agent: { enableDebug: true } })
  for (const path of ['host', 'monitor', 'pprof/heap']) {
    await refuses(t, server, [
      [
        'GET',
        `/v1/agent/${path}?server_id=x`,
        400,
        'there is no server "x": name one of one, leader',
      ],
      ['GET', `/v1/agent/${path}?server_id=one&node_id=${node}`, 400, /not both/],
      ['GET', `/v1/agent/${path}?node_id=${node}`, 404, new RegExp(`^unknown node ${node}: `)],
      ['GET', `/v1/agent/${path}?node_id=1234`, 400, /a UUID/],
    ])
  }
})

t.test('a client agent is a target by its name among the members', async (t) => {
  const clientNamed = (name: string) => (name === 'c1.global' ? node : null)
  const server = await serverOfOne(t, { agent: { clientNamed, enableDebug: true } })
  for (const path of ['host', 'monitor', 'pprof/heap']) {
    const url = `/v1/agent/${path}?server_id=`
    await refuses(t, server, [
      ['GET', `${url}c1.global`, 404, new RegExp(`^unknown node ${node}: `)],
      ['GET', `${url}c1.global&node_id=${node}`, 400, /not both/],
      ['GET', `${url}c1`, 400, /^there is no server "c1"/],
    ])
  }
})

t.test('monitor refuses what it cannot understand', async (t) => {
  const server = await serverOfOne(t)
  await refuses(t, server, [
    ['GET', '/v1/agent/monitor?log_level=loud', 400, /log_level must be one of trace, debug/],
    ['GET', '/v1/agent/monitor?plain=yes', 400, /plain must be true or false, not "yes"/],
    ['GET', '/v1/agent/monitor?log_json=2', 400, /log_json must be true or false/],
  ])
})

t.test('monitor over HTTP, in frames and plain, until the server stops', async (t) => {
  const { logger, tap } = createLog({
    name: 'one',
    level: 'error',
    json: false,
    sink: { write: () => {} },
    wallMs: () => Date.now(),
    soon: () => {},
  })
  let readers = 0
  const counted: LogTap = {
    follow: (level, take) => {
      readers += 1
      return tap.follow(level, take)
    },
  }
  const server = await serverOfOne(t, { agent: { log: counted } })
  const plain = server.ask('GET', '/v1/agent/monitor?plain=1&log_level=DEBUG&server_id=leader')
  const framed = server.ask('GET', '/v1/agent/monitor?log_json=true&server_id=&node_id=')
  const oneWord = server.ask('GET', '/v1/agent/monitor?loglevel=ERR')
  await eventuallyTrue('all listen', () => readers === 3)
  logger.error('bad')
  logger.debug('quiet')
  for (let n = 0; n < 50; n++) logger.info('loud', { n })
  server.drain()
  const lines = (await plain).body.trimEnd().split('\n')
  t.match((await plain).headers, { 'content-type': /^text\/plain/ })
  t.match(lines[1], /^\d{4}-\S+Z \[DEBUG\] one: quiet$/)
  t.equal(lines.length, 52)
  t.match((await oneWord).body, /^\d{4}-\S+Z \[ERROR\] one: bad\n$/)
  const answer = await framed
  t.match(answer.headers, { 'content-type': /^application\/json/ })
  const frames = JSON.parse(`[${answer.body.replaceAll('}{', '},{')}]`) as {
    Offset?: number
    Data?: string
    FileEvent?: string
  }[]
  let offset = 0
  let text = ''
  for (const { Offset, Data, FileEvent } of frames.filter(({ Data }) => Data !== undefined)) {
    t.same([Offset, FileEvent], [offset, 'log'])
    const bytes = Buffer.from(Data ?? '', 'base64')
    offset += bytes.length
    text += bytes.toString()
  }
  t.match(JSON.parse(text.split('\n')[1] ?? ''), { '@level': 'info', '@message': 'loud', n: 0 })
  t.equal(text.trimEnd().split('\n').length, 51)
})

t.test('profiles are closed without a word of the configuration', async (t) => {
  const server = await serverOfOne(t)
  for (const name of ['cmdline', 'profile', 'nope']) {
    await refuses(t, server, [
      ['GET', `/v1/agent/pprof/${name}`, 403, /^Permission denied: profiles need enable_debug/],
    ])
  }
})

t.test('profiles, opened', async (t) => {
  const server = await serverOfOne(t, { agent: { enableDebug: true } })
  const cmdline = await server.ask('GET', '/v1/agent/pprof/cmdline')
  t.match(cmdline.headers, { 'content-type': /^text\/plain/ })
  t.same(cmdline.body.split('\0'), process.argv)
  const binary = await server.ask('GET', '/v1/agent/pprof/profile?seconds=1')
  t.match(binary.headers, {
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="profile"',
  })
  t.same([...binary.bytes.subarray(0, 2)], [0x1f, 0x8b], 'gzip')
  const text = await server.ask('GET', '/v1/agent/pprof/goroutine?debug=1&seconds=soon')
  t.match(text.headers, { 'content-type': /^text\/plain/ })
  t.match(text.body, /^goroutine in count/)
  for (const [path, status] of [
    ['/v1/agent/pprof/nope', 404],
    ['/v1/agent/pprof/', 404],
    ['/v1/agent/pprof', 404],
    ['/v1/agent/pprof/mutex', 501],
    ['/v1/agent/pprof/profile?seconds=301', 400],
  ] as const) {
    t.equal((await server.ask('GET', path)).status, status, path)
  }
})

t.test('schedulers are read and set', async (t) => {
  const server = await serverOfOne(t, { agent: { schedulers: { count: 1, enabled: null } } })
  const path = '/v1/agent/schedulers/config'
  const all = ['service', 'batch', 'system', 'sysbatch', '_core']
  const first = await server.ask('GET', path)
  t.same(first.json(), { server_id: 'one.global', num_schedulers: 1, enabled_schedulers: all })
  t.match((await server.ask('GET', '/v1/agent/schedulers')).json(), {
    server_id: 'one.global',
    schedulers: [
      {
        id: /^[0-9a-f-]{36}$/,
        started: /Z$/,
        status: 'Started',
        workload_status: 'WaitingToDequeue',
        enabled_schedulers: all,
      },
    ],
  })
  const same = await server.ask('POST', path, first.json())
  t.same(same.json(), first.json(), 'an answer can be sent back')
  const set = await server.ask('PUT', path, { num_schedulers: 0, enabled_schedulers: ['_core'] })
  const wanted = { server_id: 'one.global', num_schedulers: 0, enabled_schedulers: ['_core'] }
  t.same([set.status, set.json()], [200, wanted])
  for (const [body, text] of [
    [{ num_schedulers: 1 }, /enabled_schedulers is missing/],
    [{ enabled_schedulers: ['_core'] }, /num_schedulers is missing/],
    [{ num_schedulers: '1', enabled_schedulers: ['_core'] }, /num_schedulers must be a whole/],
    [{ num_schedulers: 1, enabled_schedulers: '_core' }, /enabled_schedulers must be a list/],
    [{ num_schedulers: 1, enabled_schedulers: ['batch'] }, /must hold _core/],
    [{ num_schedulers: 100_000, enabled_schedulers: ['_core'] }, /number of processors/],
    ['', /the request body is empty/],
  ] as const) {
    await refuses(t, server, [['PUT', path, 400, text]], body)
  }
  t.same((await server.ask('GET', path)).json(), wanted)
})

t.test('what each endpoint asks for', async (t) => {
  const seen: Requirement[] = []
  const authorizer = {
    resolve: () => ({
      may: (requirement: Requirement) => {
        seen.push(requirement)
        return requirement.resource === 'none'
      },
    }),
  }
  const server = await serverOfOne(t, {
    authorizer,
    begin: false,
    agent: { accessControl: true },
  })
  const settings = { num_schedulers: 1, enabled_schedulers: ['_core'] }
  for (const [method, path, access] of [
    ['GET', 'self', 'read'],
    ['GET', 'host', 'read'],
    ['GET', 'monitor', 'read'],
    ['GET', 'pprof/heap', 'write'],
    ['GET', 'schedulers', 'read'],
    ['GET', 'schedulers/config', 'read'],
    ['PUT', 'schedulers/config', 'write'],
  ] as const) {
    const body = method === 'PUT' ? settings : undefined
    t.equal((await server.ask(method, `/v1/agent/${path}`, body)).status, 403, path)
    t.same(seen.at(-1), { resource: 'agent', access }, path)
  }
  t.equal((await server.ask('GET', '/v1/agent/health')).status, 200)
  t.equal((await server.ask('GET', '/v1/regions')).status, 200)
})

t.test('a reload is done before it is answered, and its failure is the answer', async (t) => {
  let times = 0
  const reload = async () => {
    times += 1
    if (times === 2) throw new MusterError('invalid_argument', 'limits: no such setting')
    return times === 3 ? 'these take a restart: ports.http' : null
  }
  const server = await serverOfOne(t, { agent: { reload }, begin: false })
  const done = await server.ask('PUT', '/v1/agent/reload')
  t.same([done.status, done.body, times], [200, '', 1])
  t.equal(done.headers['x-service-warning'], undefined)
  const failed = await server.ask('PUT', '/v1/agent/reload')
  t.same([failed.status, failed.body], [400, 'limits: no such setting'])
  const warned = await server.ask('PUT', '/v1/agent/reload')
  t.same([warned.status, warned.body], [200, ''], 'its body stays empty, as clients expect it')
  t.equal(warned.headers['x-service-warning'], 'these take a restart: ports.http')
})
