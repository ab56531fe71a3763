/** Who is a member, and who has failed, in the eyes of a leader with gossip and of one without. */
import t from 'tap'
import type { GossipEvent, MemberView } from '../../src/gossip/gossip.ts'
import type { RaftStatus } from '../../src/raft/raft.ts'
import { serverKnownNodes } from '../../src/server/known-nodes.ts'
import { clientTagsOf, tagsOf } from '../../src/gossip-pool/tags.ts'
import { manualClock } from '../support/manual-clock.ts'
import { memberView } from '../support/member-view.ts'

void t.test(
  'a server has failed after a long silence, which begins anew with a term and after a stall',
  (t) => {
    const clock = manualClock()
    let term = 1
    let heardMs = 0
    const member = (id: string) => ({ id, name: id, address: '[::1]:4647', role: 'voter' })
    const status = () =>
      ({
        id: 's1',
        term,
        configuration: { members: [member('s1'), member('s2')] },
        followers: new Map([['s2', { lastContact: heardMs }]]),
      }) as unknown as RaftStatus
    const raft = { electionMs: 1_000 }
    const members = serverKnownNodes({
      gossip: null,
      node: { status },
      config: { region: 'global', datacenter: 'dc1', server: { raft } },
      clock,
    })
    const look = () => members.servers().map((found) => `${found.name} ${found.status}`)
    /** Looks once a second. */
    const pass = (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1_000)
        members.servers()
      }
      return look()
    }
    t.same(look(), ['s1 alive', 's2 alive'])
    t.equal(members.servers()[0]?.address, '::1')
    t.same(pass(4), ['s1 alive', 's2 alive'])
    t.same(pass(1), ['s1 alive', 's2 failed'])
    heardMs = clock.monotonicMs()
    t.same(look(), ['s1 alive', 's2 alive'])
    clock.advance(60_000)
    t.same(look(), ['s1 alive', 's2 alive'], 'the leader itself was held up')
    t.same(pass(5), ['s1 alive', 's2 failed'])
    term = 2
    t.same(look(), ['s1 alive', 's2 alive'], 'a new leader')
    t.end()
  },
)

const [one, two, three] = [1, 2, 3].map((at) => `0000000${at}-0000-4000-8000-000000000000`) as [
  string,
  string,
  string,
]
const common = { region: 'eu', datacenter: 'dc2', version: '1.2.3' }
const serverTags = (id: string) =>
  tagsOf({
    ...common,
    id,
    rpcHost: '10.0.0.1',
    rpcPort: 4647,
    bootstrapExpect: 0,
    clusterId: '',
    http: null,
  })

/** A leader `s1` with one follower, and the members that gossip has. */
function withGossip(gossipMembers: () => readonly MemberView[]) {
  const clock = manualClock()
  const follower = { lastContact: clock.monotonicMs() }
  const listeners = new Set<(event: GossipEvent) => void>()
  const members = serverKnownNodes({
    gossip: {
      members: gossipMembers,
      onEvent: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      answers: async (endpoint, who, timeoutMs) => {
        t.equal(timeoutMs, 500)
        return endpoint === '10.0.0.2:4648' && who === two
      },
    },
    node: {
      status: () =>
        ({
          id: one,
          term: 1,
          configuration: {
            members: [one, three].map((id, at) => ({ id, name: `s${at + 1}`, address: 'h:1' })),
          },
          followers: new Map([[three, follower]]),
        }) as unknown as RaftStatus,
    },
    config: { region: 'eu', datacenter: 'dc1', server: { raft: { electionMs: 1_000 } } },
    clock,
  })
  return { clock, follower, listeners, members }
}

void t.test('with gossip: members of the region that are agents, and nobody else', async (t) => {
  const client = clientTagsOf({ ...common, id: two })
  const { members } = withGossip(() => [
    memberView('s1.eu', { tags: serverTags(one), status: 'leaving' }),
    memberView('c1.eu', { tags: client, status: 'failed', endpoint: '10.0.0.2:4648' }),
    memberView('c2.eu', { tags: client, suspected: true }),
    memberView('c1.us', { tags: clientTagsOf({ ...common, id: two, region: 'us' }) }),
    memberView('serf-of-somebody', { tags: new Map([['role', 'web']]) }),
  ])
  t.match(members.agents(), [
    { id: one, name: 's1', status: 'alive' },
    { id: two, name: 'c1', member: 'c1.eu', endpoint: '10.0.0.2:4648', status: 'failed' },
    { id: two, name: 'c2', status: 'suspected' },
  ])
  t.equal(members.agents().length, 3)
  t.equal(await members.answers('10.0.0.2:4648', two), true)
  t.equal(await members.answers('10.0.0.2:4648', one), false)
})

void t.test('with gossip a server has failed by two witnesses', async (t) => {
  let status: MemberView['status'] = 'failed'
  const gossip = () => [memberView('s2.eu', { tags: serverTags(three), status })]
  const { clock, follower, listeners, members } = withGossip(gossip)
  let told = 0
  const stop = members.onChange(() => {
    told += 1
  })
  const look = () => members.servers()[1]?.status
  const pass = (seconds: number, isHeard: boolean) => {
    for (let second = 0; second < seconds; second += 1) {
      if (isHeard) follower.lastContact = clock.monotonicMs()
      clock.advance(1_000)
    }
    return look()
  }
  t.equal(pass(10, true), 'alive', 'gossip alone')
  told = 0
  t.equal(pass(5, false), 'failed')
  t.equal(told, 1, 'silence is told')
  status = 'alive'
  for (const listener of listeners) {
    listener({ type: 'member-joined', member: memberView('s2.eu'), before: 'failed' })
  }
  t.equal(pass(10, false), 'alive', 'Raft alone')
  stop()
  t.equal(listeners.size, 0)
})
