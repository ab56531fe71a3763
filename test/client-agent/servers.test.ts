/** Which servers a client agent asks, and in which order. */
import t from 'tap'
import { namedAloneMs, Servers } from '../../src/client-agent/servers.ts'
import type { GossipEvent, MemberView, Status } from '../../src/gossip/gossip.ts'
import { seededRandom } from '../../src/lib/random.ts'
import { clientTagsOf, tagsOf } from '../../src/gossip-pool/tags.ts'
import type { HttpAddress } from '../../src/lib/host-port.ts'
import { manualClock } from '../support/manual-clock.ts'
import { memberView } from '../support/member-view.ts'

const id = (digit: number) => `0000000${digit}-0000-4000-8000-000000000000`

function server(digit: number, status: Status = 'alive', http = true): MemberView {
  const host = `10.0.0.${digit}`
  const tags = tagsOf({
    id: id(digit),
    region: 'eu',
    datacenter: 'dc1',
    rpcHost: host,
    rpcPort: 4647,
    bootstrapExpect: 0,
    clusterId: '',
    version: '1',
    http: http ? { secure: false, host, port: 4646 } : null,
  })
  return memberView(`s${digit}.eu`, { status, tags })
}

function pool(t: { teardown(run: () => void): void }, members: MemberView[], tlsOnly = false) {
  const listeners: ((event: GossipEvent) => void)[] = []
  let readings = 0
  const gone: HttpAddress[] = []
  const silent = new Set<string>()
  const clock = manualClock()
  const servers = new Servers({
    clock,
    gossip: {
      members: () => {
        readings += 1
        return members
      },
      onEvent(listener: (event: GossipEvent) => void) {
        listeners.push(listener)
        return () => void listeners.pop()
      },
    },
    region: 'eu',
    random: seededRandom(7),
    tlsOnly,
    probe: ({ host }) =>
      silent.has(host) ? Promise.reject(new Error('it is silent')) : Promise.resolve(),
    onGone: (place) => gone.push(place),
  })
  t.teardown(() => servers.stop())
  const tell = (event: GossipEvent) => {
    for (const listener of listeners) listener(event)
  }
  const become = (...next: MemberView[]) => {
    const gone = members.filter(({ name }) => !next.some((member) => member.name === name))
    members.splice(0, members.length, ...next)
    for (const member of next) tell({ type: 'member-updated', member })
    for (const { name } of gone)
      tell({ type: 'member-reaped', member: memberView(name, { status: 'left' }) })
  }
  const hosts = () => servers.places.map(({ host }) => host)
  return { servers, become, tell, hosts, gone, silent, clock, readings: () => readings }
}

t.test('those that are up and say where their API is, the one in use first', async (t) => {
  const client = memberView('c1.eu', {
    tags: clientTagsOf({ id: id(9), region: 'eu', datacenter: 'dc1', version: '1' }),
  })
  const { servers, become, hosts, gone } = pool(t, [
    server(1),
    server(2, 'leaving'),
    server(3, 'failed'),
    server(4, 'alive', false),
    client,
  ])
  t.same(servers.list(), ['10.0.0.1:4646', '10.0.0.2:4646'])
  const [first] = hosts()
  become(server(1), server(2), server(3), server(5))
  t.equal(hosts()[0], first, 'newcomers do not take its place')
  t.equal(hosts().length, 4)
  const [place] = servers.places
  if (place !== undefined) servers.demote(place)
  t.equal(hosts().at(-1), first)
  const order = hosts()
  become(server(5), server(3), server(2), server(1))
  t.same(hosts(), order, 'news without news change nothing')
  become(server(1), server(2), server(3, 'failed'), server(5))
  t.same(
    gone.map(({ host }) => host),
    ['10.0.0.3'],
  )
})

t.test('a pool of thousands of others costs nothing for each of them', async (t) => {
  const { servers, tell, readings } = pool(t, [server(1)])
  const before = readings()
  const tags = clientTagsOf({ id: id(9), region: 'eu', datacenter: 'dc1', version: '1' })
  for (let at = 0; at < 1_000; at += 1) {
    tell({ type: 'member-updated', member: memberView(`c${at}.eu`, { tags }) })
  }
  tell({ type: 'member-updated', member: server(2) })
  t.equal(readings(), before, 'the pool is not looked through')
  t.equal(servers.list().length, 2)
})

t.test('an operator names them, and gossip has the last word', async (t) => {
  const { servers, become, tell, silent, gone } = pool(t, [server(1)])
  silent.add('10.0.0.8')
  await t.rejects(servers.replace(['10.0.0.9:4646', '10.0.0.8:4646']), {
    code: 'invalid_argument',
    message: /stays as it was: 10[.]0[.]0[.]8:4646: it is silent/,
  })
  for (const wrong of ['', 'x', '1.2.3.4', '1.2.3.4:0', '1.2.3.4:70000', 'a b:1', 'http://a:1']) {
    await t.rejects(servers.replace([wrong]), { code: 'invalid_argument' }, wrong)
  }
  t.same(servers.list(), ['10.0.0.1:4646'])
  await servers.replace(['10.0.0.9:4646', '[::1]:4646', '10.0.0.9:4646'])
  t.same(servers.list(), ['10.0.0.9:4646', '[::1]:4646'])
  t.equal(gone.length, 1)
  tell({ type: 'member-updated', member: memberView('c1.eu', {}) })
  t.equal(servers.list().length, 2, 'other members are no news')
  become()
  t.equal(servers.list().length, 2, 'no servers are no news')
  become(server(3))
  t.same(servers.list(), ['10.0.0.3:4646'])
})

t.test('those that gossip knows come to named ones with a later heartbeat', async (t) => {
  const { servers, become, hosts, gone, clock } = pool(t, [server(1), server(2)])
  servers.onHeartbeat()
  t.equal(hosts().length, 2)
  await servers.replace(['10.0.0.9:4646', '10.0.0.1:4646'])
  const [first] = hosts()
  const before = gone.length
  clock.advance(namedAloneMs - 1)
  servers.onHeartbeat()
  t.same(servers.list(), ['10.0.0.1:4646', '10.0.0.9:4646'], 'not at once')
  clock.advance(1)
  t.equal(hosts().length, 2, 'and not without a heartbeat')
  servers.onHeartbeat()
  t.same(servers.list(), ['10.0.0.1:4646', '10.0.0.2:4646', '10.0.0.9:4646'])
  t.equal(hosts()[0], first, 'the one in use stays the first')
  t.equal(gone.length, before, 'and nothing that was asked is given up')
  become(server(1), server(3))
  t.same(servers.list(), ['10.0.0.1:4646', '10.0.0.3:4646'], 'news of gossip have the last word')
})

t.test('with an authority to go by, all are asked over TLS whatever they say', async (t) => {
  const { servers, become, gone } = pool(t, [server(1)], true)
  t.same(servers.places, [{ secure: true, host: '10.0.0.1', port: 4646 }])
  become(server(1), server(2))
  t.ok(servers.places.every(({ secure }) => secure))
  t.same(gone, [], 'those that were known stay')
  await servers.replace(['10.0.0.9:4646'])
  t.same(servers.places, [{ secure: true, host: '10.0.0.9', port: 4646 }], 'by command too')
})

t.test('who prefers whom is random', async (t) => {
  const firsts = new Set<string | undefined>()
  const random = seededRandom(3)
  for (let agent = 0; agent < 40; agent += 1) {
    const members = [server(1), server(2), server(3)]
    const servers = new Servers({
      clock: manualClock(),
      gossip: { members: () => members, onEvent: () => () => {} },
      region: 'eu',
      random,
      tlsOnly: false,
      probe: () => Promise.resolve(),
      onGone: () => {},
    })
    firsts.add(servers.places[0]?.host)
  }
  t.equal(firsts.size, 3)
})
