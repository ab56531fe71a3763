/** Consul's user events over HTTP, with gossip played by a loop to oneself. */
import t from 'tap'
import {
  eventIdOf,
  eventsKeptMax,
  indexOfEvent,
  payloadBytesMax,
  type UserEvent,
  type UserEventMessage,
} from '../../../src/domains/user-events/model.ts'
import { recentEvents } from '../../../src/domains/user-events/services.ts'
import type { UserEventPool } from '../../../src/domains/user-events/pool.ts'
import { seededRandom } from '../../../src/lib/random.ts'
import type { Requirement } from '../../../src/rpc/method.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne } from '../server-of-one.ts'

function loop() {
  const listeners = new Set<(event: UserEvent) => void>()
  let time = 0
  const hear = (event: UserEvent): void => {
    for (const listener of listeners) listener(event)
  }
  const pool: UserEventPool = {
    fire: (event) => hear({ ...event, time: (time += 1) }),
    onEvent(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return { pool, hear, listening: () => listeners.size }
}

const random = seededRandom(7)
const drawn = () =>
  eventIdOf(Uint8Array.from({ length: 16 }, () => Math.floor(random.next() * 256)))

function message(more: Partial<UserEventMessage> = {}): UserEvent {
  const none = { nodeFilter: '', serviceFilter: '', tagFilter: '' }
  return {
    id: drawn(),
    name: 'x',
    payload: new Uint8Array(),
    version: 1,
    time: 1,
    ...none,
    ...more,
  }
}

type Shown = { readonly ID: string; readonly Name: string; readonly LTime: number }

t.test(
  'an event is fired, listed by name, and found by the index that clients compute',
  async (t) => {
    const { pool } = loop()
    const server = await serverOfOne(t, { userEvents: pool, begin: false })
    const empty = await server.ask('GET', '/v1/event/list')
    t.same([empty.json(), empty.headers['x-consul-index']], [[], '1'])
    const fired = await server.ask('PUT', '/v1/event/fire/deploy?dc=dc1', 'v2')
    t.match(fired.json(), {
      ID: /^[0-9a-f-]{36}$/,
      Name: 'deploy',
      Payload: 'djI=',
      NodeFilter: '',
      ServiceFilter: '',
      TagFilter: '',
      Version: 1,
      LTime: 0,
    })
    await server.ask('PUT', '/v1/event/fire/other')
    const all = await server.ask('GET', '/v1/event/list')
    const events = all.json() as readonly Shown[]
    t.match(events, [
      { Name: 'deploy', LTime: 1 },
      { Name: 'other', Payload: null, LTime: 2 },
    ])
    t.equal(all.headers['x-consul-index'], String(indexOfEvent(events[1]?.ID ?? '')))
    const one = await server.ask('GET', '/v1/event/list?name=deploy')
    t.match(one.json(), [{ Name: 'deploy' }])
    t.equal(one.headers['x-consul-index'], String(indexOfEvent(events[0]?.ID ?? '')))
  },
)

t.test("what Consul's exec fires is refused, as no agent runs commands", async (t) => {
  const { pool } = loop()
  const server = await serverOfOne(t, { userEvents: pool, begin: false })
  const fired = await server.ask('PUT', '/v1/event/fire/_rexec', '{}')
  t.match([fired.status, fired.body], [501, /no agent runs commands for others/])
  t.same((await server.ask('GET', '/v1/event/list')).json(), [])
})

t.test('a blocking query waits for another event of its name, and the wait ends', async (t) => {
  const { pool } = loop()
  const server = await serverOfOne(t, { userEvents: pool, begin: false })
  await server.ask('PUT', '/v1/event/fire/x')
  const first = await server.ask('GET', '/v1/event/list?name=x')
  const index = String(first.headers['x-consul-index'])
  const path = `/v1/event/list?name=x&index=${index}`
  const same = await server.ask('GET', `${path}&wait=10ms`)
  t.equal(same.headers['x-consul-index'], index, 'nothing came')
  const stale = await server.ask('GET', `/v1/event/list?name=x&index=5`)
  t.equal(
    stale.headers['x-consul-index'],
    index,
    'another place than the newest is answered at once',
  )
  const waiting = server.ask('GET', path)
  await eventuallyTrue('the query waits', () => server.underWay() > 0)
  await server.ask('PUT', '/v1/event/fire/y')
  await server.ask('PUT', '/v1/event/fire/x')
  t.equal(((await waiting).json() as readonly Shown[]).length, 2)
})

t.test('a server that stops answers the queries that wait', async (t) => {
  const { pool } = loop()
  const server = await serverOfOne(t, { userEvents: pool, begin: false })
  const waiting = server.ask('GET', '/v1/event/list?index=1&wait=60s')
  await eventuallyTrue('the query waits', () => server.underWay() > 0)
  server.drain()
  t.same([(await waiting).status, (await waiting).json()], [200, []])
})

t.test('an agent keeps what its node and its services match', async (t) => {
  const { pool } = loop()
  const server = await serverOfOne(t, { userEvents: pool, begin: false })
  await server.ask('PUT', '/v1/agent/service/register', { Name: 'web', Tags: ['blue'] })
  for (const [query, kept] of [
    ['node=^one$', true],
    ['node=^two$', false],
    ['service=we', true],
    ['service=db', false],
    ['service=web&tag=blue', true],
    ['service=web&tag=green', false],
  ] as const) {
    const name = encodeURIComponent(query)
    t.equal((await server.ask('PUT', `/v1/event/fire/${name}?${query}`)).status, 200, query)
    const listed = (await server.ask('GET', `/v1/event/list?name=${name}`)).json()
    t.equal((listed as readonly unknown[]).length, kept ? 1 : 0, query)
  }
})

t.test('what cannot be is refused', async (t) => {
  const { pool } = loop()
  const server = await serverOfOne(t, { userEvents: pool, begin: false })
  for (const [path, body, status, text] of [
    ['x?tag=a', '', 400, /a tag filter needs a service filter/],
    ['x?node=(', '', 400, /./],
    ['x?node=' + 'a'.repeat(129), '', 400, /./],
    ['y'.repeat(129), '', 400, /./],
    ['x?dc=elsewhere', '', 400, /No path to datacenter/],
    ['x', 'p'.repeat(payloadBytesMax + 1), 413, /./],
  ] as const) {
    const answer = await server.ask('PUT', `/v1/event/fire/${path}`, body)
    t.equal(answer.status, status, path.slice(0, 20))
    t.match(answer.body, text)
  }
  t.equal((await server.ask('PUT', '/v1/event/fire/x', 'p'.repeat(payloadBytesMax))).status, 200)
  t.equal((await server.ask('POST', '/v1/event/fire/x')).status, 405)
})

t.test(
  'gossip may say anything: strange events are left out, doubled ones too, old ones give way',
  async (t) => {
    const { pool, hear, listening } = loop()
    const server = await serverOfOne(t, { userEvents: pool, begin: false })
    const listed = async () =>
      (await server.ask('GET', '/v1/event/list')).json() as readonly Shown[]
    hear(message({ id: '' }))
    hear(message({ id: 'ffffffff-ffff-4fff-8000-000000000000' }))
    hear(message({ name: '' }))
    hear(message({ name: 'n'.repeat(129) }))
    hear(message({ nodeFilter: '(' }))
    t.same(await listed(), [])
    const one = message({ name: 'first' })
    hear(one)
    hear(one)
    t.equal((await listed()).length, 1)
    for (let count = 0; count < eventsKeptMax; count += 1) hear(message())
    const kept = await listed()
    t.equal(kept.length, eventsKeptMax)
    t.notOk(kept.some(({ Name }) => Name === 'first'))
    server.services.get(recentEvents).stop()
    t.equal(listening(), 0)
  },
)

t.test('firing needs event:write of the name, and each event of a list event:read', async (t) => {
  const { pool, hear } = loop()
  const authorizer = {
    resolve: () => ({
      may: (requirement: Requirement) =>
        requirement.resource === 'none' ||
        (requirement.resource === 'event' && requirement.event === 'mine'),
    }),
  }
  const server = await serverOfOne(t, { userEvents: pool, begin: false, authorizer })
  t.equal((await server.ask('PUT', '/v1/event/fire/other')).status, 403)
  t.equal((await server.ask('PUT', '/v1/event/fire/mine')).status, 200)
  hear(message({ name: 'other' }))
  t.match((await server.ask('GET', '/v1/event/list')).json(), [{ Name: 'mine' }])
})

t.test('ids are UUIDs of version 4, and a double holds the index of each', (t) => {
  const ids = Array.from({ length: 2_000 }, drawn)
  t.equal(new Set(ids).size, ids.length)
  for (const id of ids) {
    if (!/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))
      t.fail(id)
    if (!((indexOfEvent(id) ?? 0) > 0)) t.fail(id)
  }
  // The example of the rule: 0x1 in one half, 0x3 in the other.
  t.equal(indexOfEvent('00000000-0000-0001-0000-000000000003'), 2)
  t.equal(indexOfEvent('00000000-0000-0001-0000-000000000001'), null, 'an index is never 0')
  t.end()
})
