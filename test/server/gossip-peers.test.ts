/** What members of a pool mean for consensus. */
import t from 'tap'
import type { GossipEvent, MemberView, Status } from '../../src/gossip/gossip.ts'
import { GossipPeers } from '../../src/server/gossip-peers.ts'
import { serverOf, strangerTo, tagsOf } from '../../src/gossip-pool/tags.ts'
import { memberView } from '../support/member-view.ts'

const id = (digit: number) => `0000000${digit}-0000-4000-8000-000000000000`

const tagsFor = (digit: number) =>
  tagsOf({
    id: id(digit),
    region: 'eu',
    datacenter: 'dc1',
    rpcHost: `10.0.0.${digit}`,
    rpcPort: 4647,
    bootstrapExpect: 3,
    clusterId: '',
    version: '1.2.3',
    http: { secure: false, host: `10.0.0.${digit}`, port: 4646 },
  })

function member(
  digit: number,
  status: Status,
  tags: ReadonlyMap<string, string> = tagsFor(digit),
  name = `s${digit}.eu`,
): MemberView {
  const address = `10.0.0.${digit}`
  return memberView(name, { address, endpoint: `${address}:4648`, tags, status })
}

function pool(members: MemberView[]) {
  const listeners: ((event: GossipEvent) => void)[] = []
  let moved = 0
  const peers = new GossipPeers({
    gossip: {
      name: 's1.eu',
      members: () => members,
      onEvent(listener) {
        listeners.push(listener)
        return () => {}
      },
    },
    region: 'eu',
    selfId: id(1),
    onMoved: () => {
      moved += 1
    },
  })
  return {
    peers,
    tell: (event: GossipEvent) => {
      for (const listener of listeners) listener(event)
    },
    moved: () => moved,
  }
}

t.test('tags are read as they were written', async (t) => {
  t.match(serverOf(member(2, 'alive'), 'eu'), {
    id: id(2),
    name: 's2',
    address: '10.0.0.2:4647',
    expect: 3,
    version: '1.2.3',
  })
})

t.test('whatever is no server of this region is none', async (t) => {
  const changed = (key: string, value: string) => new Map(tagsFor(2)).set(key, value)
  const rows: readonly (readonly [string, ReadonlyMap<string, string>, string])[] = [
    ['no tags', new Map(), 's2.eu'],
    ['another role', changed('role', 'web'), 's2.eu'],
    ['another region', changed('region', 'us'), 's2.eu'],
    ['a name of no region', tagsFor(2), 's2'],
    ['a name that is none', tagsFor(2), '-.eu'],
    ['an id that is none', changed('id', 'x'), 's2.eu'],
    ['port 0', changed('port', '0'), 's2.eu'],
    ['a port too high', changed('port', '65536'), 's2.eu'],
    ['a host with a blank', changed('rpc_addr', 'a b'), 's2.eu'],
    ['too many expected', changed('expect', '10'), 's2.eu'],
  ]
  for (const [what, tags, name] of rows) {
    t.equal(serverOf(member(2, 'alive', tags, name), 'eu'), null, what)
  }
})

t.test('the living are asked, and their word on where they are is a claim', async (t) => {
  const { peers } = pool([
    member(1, 'alive'),
    member(2, 'alive'),
    member(3, 'failed'),
    member(4, 'left'),
    member(5, 'leaving'),
    member(6, 'alive', new Map([['role', 'web']]), 'web'),
  ])
  t.same(
    peers.servers().map(({ name }) => name),
    ['s2', 's5'],
  )
  t.equal(peers.claimedAddress(id(2)), '10.0.0.2:4647')
  t.equal(peers.claimedAddress(id(3)), null)
  t.equal(peers.claimedAddress(id(4)), null)
})

t.test('who came or changed may have moved', async (t) => {
  const { tell, moved } = pool([member(1, 'alive'), member(2, 'alive')])
  tell({ type: 'member-left', member: member(2, 'left'), forced: true })
  tell({ type: 'member-failed', member: member(2, 'failed') })
  t.equal(moved(), 0)
  tell({ type: 'member-joined', member: member(2, 'alive'), before: null })
  tell({ type: 'member-updated', member: member(2, 'alive') })
  t.equal(moved(), 2)
})

const strangers = [
  // own cluster, tags of the other                                                   kept out
  ['one', { role: 'muster', region: 'eu', cluster: 'two' }, true],
  ['one', { role: 'muster', region: 'eu', cluster: 'one' }, false],
  ['one', { role: 'muster', region: 'eu' }, false],
  ['', { role: 'muster', region: 'eu', cluster: 'two' }, false],
  ['one', { role: 'muster', region: 'us', cluster: 'two' }, false],
  ['one', { role: 'guest', region: 'eu', cluster: 'two' }, false],
] as const

for (const [clusterId, tags, isOut] of strangers) {
  void t.test(
    `a server of cluster "${clusterId}" ${isOut ? 'keeps out' : 'lets in'} ${JSON.stringify(tags)}`,
    (t) => {
      const other = {
        name: 's1.eu',
        endpoint: '10.0.0.1:4648',
        tags: new Map(Object.entries(tags)),
      }
      const reason = strangerTo({ region: 'eu', clusterId }, other)
      t.equal(reason !== null, isOut)
      if (isOut) t.match(reason, 's1.eu at 10.0.0.1:4648 is of cluster two')
      t.end()
    },
  )
}
