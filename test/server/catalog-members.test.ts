/** Who has failed in the eyes of a leader without gossip. */
import t from 'tap'
import type { RaftStatus } from '../../src/raft/door.ts'
import { agentMembers } from '../../src/server/catalog-members.ts'
import { manualClock } from '../support/manual-clock.ts'

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
