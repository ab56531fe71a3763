/** Whether a log and a state that a start finds belong together. */
import t from 'tap'
import { logAndState } from '../../src/raft/startup.ts'
import type { RecoveredLog } from '../../src/raft/storage/log-store.ts'

const configuration = { clusterId: 'c', members: [] }

/** Begins after 10 of term 2, entries 11 to 20 of term 3 and 21 to 30 of term 5. */
const log: RecoveredLog = {
  hardState: { term: 6, votedFor: null, commitIndex: 12 },
  snapshot: { index: 10, term: 2, configuration, configurationIndex: 1 },
  lastIndex: 30,
  termRuns: [
    { term: 3, firstIndex: 11 },
    { term: 5, firstIndex: 21 },
  ],
  configurations: [],
  tail: [],
}

const state = (appliedIndex: number, term: number, installedIndex = 0) => ({
  appliedIndex,
  installedIndex,
  flush: async () => ({ index: appliedIndex, term, configuration, configurationIndex: 1 }),
})

const cases: readonly (readonly [string, ReturnType<typeof state>, string])[] = [
  ['behind the beginning of the log', state(9, 2), 'corrupt'],
  ['at the beginning', state(10, 2), 'follows'],
  ['in the middle', state(15, 3), 'follows'],
  ['at the end', state(30, 5), 'follows'],
  ['behind the end, without an install', state(31, 5), 'corrupt'],
  ['installed behind the end', state(40, 6, 40), 'installed'],
  ['installed where the log has another term', state(25, 6, 25), 'installed'],
  ['installed where the log agrees: its entries may be acknowledged', state(25, 5, 25), 'follows'],
  ['installed in the first term of the log', state(11, 3, 11), 'follows'],
  ['installed long ago', state(25, 5, 12), 'follows'],
]

for (const [name, found, expected] of cases) {
  t.test(`a state ${name}: ${expected}`, async (t) => {
    if (expected === 'corrupt') await t.rejects(logAndState(log, found), { code: 'corrupt' })
    else t.equal(await logAndState(log, found), expected)
  })
}
