/** What requests are told of leadership, from the status of the Raft node. */
import t from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import type { RaftStatus } from '../../src/raft/raft.ts'
import { RaftConsensus } from '../../src/server/consensus.ts'

const member = (id: string) => ({ id, name: id, address: `${id}:1`, role: 'voter' }) as const

const follower: RaftStatus = {
  id: 'a',
  role: 'follower',
  term: 1,
  leaderId: 'b',
  lastIndex: 1,
  commitIndex: 1,
  appliedIndex: 1,
  settled: false,
  transferring: false,
  electionTimeoutMs: 1_000,
  configuration: { clusterId: 'c', members: [member('a'), member('b')] },
  configurationIndex: 1,
  followers: new Map(),
}
const leader = { role: 'leader', leaderId: 'a', settled: true } as const

function consensusOf() {
  let tell: (status: RaftStatus) => void = () => {}
  const node = {
    status: () => follower,
    propose: () => Promise.reject(new Error('not asked')),
    readBarrier: () => Promise.resolve(),
    isFresh: () => false,
    lastContactMs: () => 0,
    onChange: (listener: (status: RaftStatus) => void) => {
      tell = listener
      return () => {}
    },
  }
  const consensus = new RaftConsensus(node, ({ address }) => address, systemClock)
  return { consensus, become: (status: Partial<RaftStatus>) => tell({ ...follower, ...status }) }
}

const cases: readonly (readonly [
  string,
  Partial<RaftStatus>,
  { readonly leads: boolean; readonly settles: boolean; readonly leader: string | null },
])[] = [
  ['a follower', {}, { leads: false, settles: false, leader: 'b' }],
  ['one that knows no leader', { leaderId: null }, { leads: false, settles: false, leader: null }],
  [
    'a leader just elected',
    { ...leader, settled: false },
    { leads: false, settles: true, leader: null },
  ],
  ['a leader', leader, { leads: true, settles: false, leader: 'a' }],
  [
    'a leader that hands over',
    { ...leader, transferring: true },
    { leads: false, settles: true, leader: null },
  ],
  [
    'one that handed over and knows no successor yet',
    { term: 2, leaderId: null },
    { leads: false, settles: true, leader: null },
  ],
  ['one that knows it', { term: 2 }, { leads: false, settles: false, leader: 'b' }],
  ['a leader again', { ...leader, term: 3 }, { leads: true, settles: false, leader: 'a' }],
  [
    'one that was deposed',
    { term: 4, leaderId: null },
    { leads: false, settles: false, leader: null },
  ],
]

void t.test('calls wait at a server that leads and takes none for a moment', async (t) => {
  const { consensus, become } = consensusOf()
  for (const [name, status, expected] of cases) {
    become(status)
    const seen = {
      leads: consensus.isLeader(),
      settles: consensus.isSettling(),
      leader: consensus.leader()?.id ?? null,
    }
    t.same(seen, expected, name)
  }
})
