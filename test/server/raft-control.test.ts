/** What a server tells of the others: from gossip where there is one, else from its own connections. */
import t from 'tap'
import { raftControl } from '../../src/server/raft-control.ts'
import type { RaftStatus } from '../../src/raft/raft.ts'
import { memberView } from '../support/member-view.ts'

const silentMs = 1_000
const nowMs = 10_000

const base: RaftStatus = {
  id: 'a',
  role: 'follower',
  term: 3,
  leaderId: 'b',
  lastIndex: 1,
  commitIndex: 1,
  appliedIndex: 1,
  settled: false,
  transferring: false,
  electionTimeoutMs: 1_000,
  configuration: { clusterId: 'c', members: [] },
  configurationIndex: 1,
  followers: new Map(),
}

type Case = {
  readonly gossip?: 'alive' | 'leaving' | 'failed' | 'left'
  readonly gone?: boolean
  readonly role?: 'leader' | 'follower'
  /** Of the leader, or of the follower where this server leads. */
  readonly heardMs?: number
  readonly asked?: string
  readonly says: string
}

const cases: Readonly<Record<string, Case>> = {
  'this server': { asked: 'a', gone: true, says: 'alive' },
  'gossip: alive': { gossip: 'alive', says: 'alive' },
  'gossip: leaving': { gossip: 'leaving', says: 'alive' },
  'gossip: failed': { gossip: 'failed', says: 'failed' },
  'gossip: left': { gossip: 'left', gone: true, says: 'left' },
  'gossip does not know yet that the port is closed': {
    gossip: 'alive',
    gone: true,
    says: 'failed',
  },
  'a port is closed': { gone: true, says: 'failed' },
  'the leader, heard': { heardMs: silentMs, says: 'alive' },
  'the leader, silent': { heardMs: silentMs + 1, says: 'unknown' },
  'another follower': { asked: 'c', heardMs: 0, says: 'unknown' },
  'a follower, heard by the leader': { role: 'leader', heardMs: silentMs, says: 'alive' },
  'a follower, silent': { role: 'leader', heardMs: silentMs + 1, says: 'failed' },
}

for (const [
  name,
  { gossip, gone = false, role = 'follower', heardMs, asked = 'b', says },
] of Object.entries(cases)) {
  t.test(name, async (t) => {
    const lastContact = nowMs - (heardMs ?? Infinity)
    const control = raftControl({
      node: {
        status: () => ({
          ...base,
          role,
          leaderId: role === 'leader' ? 'a' : 'b',
          followers: new Map([['b', { match: 1, state: 'replicate' as const, lastContact }]]),
        }),
        lastContactMs: () => heardMs ?? Infinity,
        transferLeadership: async () => undefined,
        changeMembership: async () => undefined,
      },
      isGone: () => gone,
      pool: () =>
        gossip === undefined ? [] : [{ id: 'b', member: memberView('b', { status: gossip }) }],
      silentMs,
      clock: { monotonicMs: () => nowMs },
    })
    t.equal(control.statusOf(asked), says)
  })
}
