/** Who is a member, and who has failed, in the eyes of a leader with gossip and of one without. */
import t from 'tap'
import type { RaftStatus } from '../../src/raft/door.ts'
import { agentMembers } from '../../src/server/catalog-members.ts'
import { clientTagsOf, tagsOf } from '../../src/member/gossip-tags.ts'
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
    const members = agentMembers({
      gossip: null,
      node: { status },
      config: { region: 'global', datacenter: 'dc1', server: { raft } },
      version: '1.0.0',
      clock,
    })
    const look = () => members.list().map((found) => `${found.name} ${found.status}`)
    /** Looks once a second. */
    const pass = (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1_000)
        members.list()
      }
      return look()
    }
    t.same(look(), ['s1 alive', 's2 alive'])
    t.equal(members.list()[0]?.address, '::1')
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

void t.test('with gossip: servers and client agents of the region, and nobody else', (t) => {
  const common = { region: 'eu', datacenter: 'dc2', version: '1.2.3' }
  const [one, two] = [
    '00000001-0000-4000-8000-000000000000',
    '00000002-0000-4000-8000-000000000000',
  ]
  const server = tagsOf({
    ...common,
    id: one,
    rpcHost: '10.0.0.1',
    rpcPort: 4647,
    bootstrapExpect: 0,
    clusterId: '',
    http: null,
  })
  const client = clientTagsOf({ ...common, id: two })
  const members = agentMembers({
    gossip: {
      members: () => [
        memberView('s1.eu', { tags: server, status: 'leaving' }),
        memberView('c1.eu', { tags: client, status: 'failed', address: '10.0.0.2' }),
        memberView('c1.us', { tags: clientTagsOf({ ...common, id: two, region: 'us' }) }),
        memberView('serf-of-somebody', { tags: new Map([['role', 'web']]) }),
      ],
      onEvent: () => () => {},
    },
    node: { status: () => ({}) as unknown as RaftStatus },
    config: { region: 'eu', datacenter: 'dc1', server: { raft: { electionMs: 1_000 } } },
    version: '1.0.0',
    clock: manualClock(),
  })
  t.match(members.list(), [
    { id: one, name: 's1', datacenter: 'dc2', status: 'alive' },
    { id: two, name: 'c1', address: '10.0.0.2', datacenter: 'dc2', status: 'failed' },
  ])
  t.equal(members.list().length, 2)
  t.match(members.list()[1]?.meta, [['muster-version', '1.2.3']])
  t.end()
})
