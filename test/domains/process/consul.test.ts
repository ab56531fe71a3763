/** An agent in Consul's shapes, as its command line, python-consul and load balancers read them. */
import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'

const headers = { 'x-consul-token': '' }

t.test('what an agent says of itself has objects under all names', async (t) => {
  const server = await serverOfOne(t)
  const answer = await server.ask('GET', '/v1/agent/self', undefined, undefined, headers)
  t.equal(answer.status, 200)
  const self = answer.json() as Record<string, Record<string, unknown>>
  t.match(self, {
    Config: { NodeName: 'one', Server: true, NodeID: 's1' },
    Member: { Name: 'one', Addr: '127.0.0.1', Port: 4648, Status: 1, ProtocolCur: 2 },
    Stats: { raft: { term: '1' }, consul: { server: 'true' } },
    DebugConfig: { ACLsEnabled: false },
    Coord: null,
    Meta: {},
  })
  for (const [name, value] of Object.entries(self)) t.equal(typeof value, 'object', name)
  const common = (await server.ask('GET', '/v1/agent/self')).json() as object
  t.same(Object.keys(common), ['config', 'member', 'stats'], 'the other dialect has its own shape')
})

t.test('the version of an agent has its own path', async (t) => {
  const server = await serverOfOne(t)
  const answer = await server.ask('GET', '/v1/agent/version')
  t.equal(answer.status, 200, answer.body)
  t.match(answer.json(), { HumanVersion: /^/, SHA: /^/, BuildDate: /Z$/, FIPS: '' })
})

t.test('a check is reported by GET, in this dialect alone', async (t) => {
  const server = await serverOfOne(t)
  const check = { Name: 'up', TTL: '30s' }
  t.equal((await server.ask('PUT', '/v1/agent/check/register', check)).status, 200)
  const statusIs = async (status: string) => {
    const checks = (await server.ask('GET', '/v1/agent/checks')).json() as Record<string, object>
    t.match(checks['up'], { Status: status })
  }
  const get = async (url: string) =>
    (await server.ask('GET', url, undefined, undefined, headers)).status
  for (const [word, status] of [
    ['pass', 'passing'],
    ['warn', 'warning'],
    ['fail', 'critical'],
  ] as const) {
    t.equal((await server.ask('GET', `/v1/agent/check/${word}/up`)).status, 405)
    t.equal(await get(`/v1/agent/check/${word}/up?note=n`), 200)
    await statusIs(status)
  }
  t.equal(await get('/v1/agent/check/deregister/up'), 200)
  t.same((await server.ask('GET', '/v1/agent/checks')).json(), {})
})
