/** Messages that no server of a sound cluster sends are refused, and change nothing. */
import t from 'tap'
import type { RaftCore } from '../../../src/raft/core/core.ts'
import type { Message } from '../../../src/raft/core/message.ts'
import { Cores } from './bench-of-cores.ts'

const termLeapMax = 2 ** 24

/** What is true of the leader, which rows of the table go beyond. */
type Truth = { readonly term: number; readonly last: number; readonly round: number }

/** Leader `a` of three servers, with no message on its way, and the latest round that it asked. */
function led(): { readonly cores: Cores; readonly core: RaftCore; readonly truth: Truth } {
  const cores = new Cores(['a', 'b', 'c'])
  cores.elect('a')
  cores.propose('a', 'x')
  cores.settle()
  let round = 0
  cores.now += 200
  const core = cores.core('a')
  core.tick(cores.now, false)
  for (const message of core.takeReady(cores.now).send) {
    if (message.type === 'heartbeat') round = Math.max(round, message.round)
  }
  return { cores, core, truth: { term: core.term, last: core.log.lastIndex, round } }
}

function stateOf(core: RaftCore): unknown {
  const { role, term, leaderId, hardState, applicableIndex, completeAt, transferring } = core
  const { lastIndex, commitIndex, persistedIndex } = core.log
  const followers = [...core.followers].map(([id, progress]) => [id, { ...progress }])
  const indexes = { lastIndex, commitIndex, persistedIndex, applicableIndex, completeAt }
  return structuredClone({ role, term, leaderId, hardState, transferring, indexes, followers })
}

const fromB = { from: 'b', to: 'a' } as const
const appended = { prevIndex: 0, prevTerm: 0, entries: [], commitIndex: 0 }

type Row = readonly [name: string, message: (truth: Truth) => Message, text: RegExp]

const refused: readonly Row[] = [
  [
    'for another server',
    ({ term, round }) => ({ type: 'heartbeatResponse', from: 'b', to: 'c', term, round }),
    /^a message was refused: it is for server c$/,
  ],
  [
    'from this very server',
    ({ term, round }) => ({ type: 'heartbeatResponse', from: 'a', to: 'a', term, round }),
    /^a message was refused: it says that this server sent it$/,
  ],
  [
    'a term that no elections lead to',
    ({ term, last }) => ({
      type: 'voteRequest',
      ...fromB,
      term: term + termLeapMax + 1,
      lastIndex: last,
      lastTerm: term,
      transfer: false,
    }),
    /its term \d+ is impossibly far ahead of term \d+$/,
  ],
  [
    'a heartbeat of another leader of the same term',
    ({ term }) => ({ type: 'heartbeat', ...fromB, term, commitIndex: 0, round: 1 }),
    /it says that its sender leads term \d+, which this server leads$/,
  ],
  [
    'entries of another leader of the same term',
    ({ term }) => ({ type: 'appendRequest', ...fromB, term, ...appended, round: 1 }),
    /it says that its sender leads term \d+, which this server leads$/,
  ],
  [
    'an acknowledged entry beyond the log',
    ({ term, last, round }) => ({
      type: 'appendResponse',
      ...fromB,
      term,
      round,
      ok: true,
      matchIndex: last + 1,
    }),
    /it acknowledges entry \d+, the last one is \d+$/,
  ],
  [
    'an acknowledgement of a round to come',
    ({ term, last, round }) => ({
      type: 'appendResponse',
      ...fromB,
      term,
      round: round + 1,
      ok: true,
      matchIndex: last,
    }),
    /it answers round \d+, the latest one is \d+$/,
  ],
  [
    'entries that do not fit, in a round to come',
    ({ term, last, round }) => ({
      type: 'appendResponse',
      ...fromB,
      term,
      round: round + 1,
      ok: false,
      rejectedIndex: last,
      hintIndex: 0,
      hintTerm: 0,
    }),
    /it answers round \d+, the latest one is \d+$/,
  ],
  [
    'an answer to a heartbeat of a round to come',
    ({ term, round }) => ({ type: 'heartbeatResponse', ...fromB, term, round: round + 1 }),
    /it answers round \d+, the latest one is \d+$/,
  ],
]

for (const [name, messageOf, message] of refused) {
  t.test(`refused: ${name}`, async (t) => {
    const { cores, core, truth } = led()
    t.ok(truth.round > 0, 'it asked')
    const before = stateOf(core)
    t.throws(() => core.message(messageOf(truth), cores.now), { code: 'corrupt', message })
    t.same(stateOf(core), before, 'it is what it was')
    const { send, persist } = core.takeReady(cores.now)
    t.same([send, persist], [[], null], 'and has nothing to say or to write')
  })
}

t.test('what is at the edge of the possible is taken', async (t) => {
  const { cores, core, truth } = led()
  const { term, last, round } = truth
  const taken: readonly Message[] = [
    { type: 'appendResponse', ...fromB, term, round, ok: true, matchIndex: last },
    { type: 'heartbeatResponse', ...fromB, term, round },
    // A leader that was: it is told the term, and an answer to one that was counts for nothing.
    { type: 'heartbeat', ...fromB, term: term - 1, commitIndex: 0, round: 1 },
    { type: 'heartbeatResponse', ...fromB, term: term - 1, round: round + 1 },
  ]
  for (const message of taken) t.doesNotThrow(() => core.message(message, cores.now), message.type)
  t.match(core, { role: 'leader', term })
  const next = term + termLeapMax
  core.message({ type: 'appendRequest', ...fromB, term: next, ...appended, round: 1 }, cores.now)
  t.match(core, { role: 'follower', term: next, leaderId: 'b' })
})

t.test('a server that does not lead is sent what it leaves to its role', async (t) => {
  const { cores, truth } = led()
  const { term, last, round } = truth
  const core = cores.core('b')
  const late: readonly Message[] = [
    { type: 'appendResponse', from: 'c', to: 'b', term, round, ok: true, matchIndex: last + 9 },
    { type: 'heartbeatResponse', from: 'c', to: 'b', term, round: round + 9 },
  ]
  const before = stateOf(core)
  for (const message of late) t.doesNotThrow(() => core.message(message, cores.now), message.type)
  t.same(stateOf(core), before)
})
