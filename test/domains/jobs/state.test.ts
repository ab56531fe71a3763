/** The row of a job follows its allocations and evaluations. */
import t from 'tap'
import {
  countsFor,
  hasLive,
  statusOf,
  withCounts,
  withQueued,
  withWork,
  type ClientStatus,
} from '../../../src/domains/jobs/state-model.ts'
import type { JobRow } from '../../../src/domains/jobs/table.ts'

const none = { queued: 0, starting: 0, running: 0, complete: 0, failed: 0, lost: 0, unknown: 0 }

function rowOf(more: Partial<JobRow> = {}): JobRow {
  return {
    namespace: 'default',
    id: 'web',
    type: 'service',
    priority: 50,
    version: 0,
    stop: false,
    template: false,
    status: 'pending',
    groups: [{ group: 'g', ...none }],
    submitMs: 1,
    jobModifyIndex: 5,
    createIndex: 5,
    modifyIndex: 5,
    ...more,
  }
}

t.test('an allocation moves from one count to the next', async (t) => {
  const statuses: readonly ClientStatus[] = ['pending', 'running', 'unknown', 'running', 'complete']
  let row = withQueued(rowOf(), [['g', 2]])
  t.equal(row.groups[0]?.queued, 2)
  let from: ClientStatus | null = null
  for (const to of statuses) {
    row = withCounts(row, [{ group: 'g', from, to }])
    t.equal(hasLive(row), to !== 'complete', to)
    from = to
  }
  t.same(row.groups, [{ group: 'g', ...none, queued: 1, complete: 1 }])
  t.same(withQueued(row, []).groups, [{ group: 'g', ...none, complete: 1 }])
})

t.test(
  'no count falls below zero, and a group that the job has no more is counted on',
  async (t) => {
    const row = withCounts(rowOf(), [{ group: 'old', from: 'running', to: 'failed' }])
    t.same(row.groups, [
      { group: 'g', ...none },
      { group: 'old', ...none, failed: 1 },
    ])
  },
)

t.test('a registration counts its groups, and others that still run something', async (t) => {
  const before = rowOf({
    groups: [
      { group: 'g', ...none, running: 1 },
      { group: 'gone', ...none, complete: 3 },
      { group: 'ending', ...none, running: 2 },
    ],
  })
  t.same(
    countsFor(['new', 'g'], before).map(({ group }) => group),
    ['new', 'g', 'ending'],
  )
  t.same(countsFor(['a'], null), [{ group: 'a', ...none }])
})

// oxfmt-ignore
t.test('a job has the status of what it runs and what is still to be decided', async (t) => {
  const cases = [
    // what of the job,                    live,  open,  status
    [{},                                   true,  false, 'running'],
    [{},                                   false, true,  'pending'],
    [{},                                   false, false, 'dead'],
    [{ stop: true },                       true,  true,  'running'],
    [{ stop: true },                       false, false, 'dead'],
    [{ type: 'batch' },                    false, false, 'dead'],
    [{ type: 'system' },                   false, false, 'running'],
    [{ type: 'system', stop: true },       false, false, 'dead'],
    [{ type: 'batch', template: true },    false, false, 'running'],
  ] as const
  for (const [of, live, openEvaluations, status] of cases) {
    t.equal(statusOf(rowOf(of), { live, openEvaluations }), status, JSON.stringify(of))
  }
})

t.test('an entry that moves nothing leaves the row and its index', async (t) => {
  const row = rowOf()
  t.equal(withWork(row, { counts: [], queued: [], openEvaluations: true }, 9), row)
  const running = withWork(
    row,
    { counts: [{ group: 'g', from: null, to: 'running' }], queued: null, openEvaluations: true },
    9,
  )
  t.match(running, { status: 'running', modifyIndex: 9, jobModifyIndex: 5 })
})
