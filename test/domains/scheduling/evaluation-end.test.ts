/** What becomes of an evaluation, and what follows from it. */
import t from 'tap'
import { newEvaluation, type EvaluationRow } from '../../../src/domains/evaluations/model.ts'
import {
  BlockedEvaluations,
  classesMax,
} from '../../../src/domains/scheduling/blocked-evaluations.ts'
import {
  ended,
  followedUp,
  givenUp,
  refusedTooOften,
  type EndContext,
} from '../../../src/domains/scheduling/evaluation-end.ts'
import type { Decision } from '../../../src/scheduler/decision.ts'
import { id } from '../../scheduler/cluster.ts'

function row(number: number, about: Partial<EvaluationRow> = {}): EvaluationRow {
  const seed = newEvaluation({
    id: id(number),
    namespace: 'default',
    jobId: 'job',
    type: 'service',
    priority: 50,
    triggeredBy: 'job-register',
    nowMs: 1,
  })
  return { ...seed, createIndex: 1, modifyIndex: 1, ...about }
}

const nothing: Decision = {
  stop: [],
  update: [],
  place: [],
  queued: [['web', 0]],
  failed: [],
  unknown: [],
  awaiting: [],
  followUpMs: null,
  cutOffUntilMs: null,
  classes: new Map([['v1:a', false]]),
  escaped: false,
  deployment: { create: null, resize: null, ends: [] },
}
const waits: Decision = { ...nothing, queued: [['web', 2]] }

function context(about: Partial<EndContext> = {}): EndContext {
  let made = 100
  return {
    row: row(1),
    open: [],
    jobModifyIndex: 7,
    deployment: null,
    snapshotIndex: 9,
    nowMs: 1_000,
    newId: () => id((made += 1)),
    ...about,
  }
}

t.test('all is placed: it is complete, and what was blocked of the job is canceled', async (t) => {
  const open = [row(2, { status: 'blocked' })]
  t.match(ended(context({ open }), nothing), [
    { id: id(1), status: 'complete', blockedEval: '', snapshotIndex: 9 },
    { id: id(2), status: 'canceled' },
  ])
})

t.test('it names the deployment that begins with it, or the newest one', async (t) => {
  const create = { id: id(8), groups: [] }
  const begins: Decision = { ...nothing, deployment: { create, resize: null, ends: [] } }
  const deployment = { id: id(7) }
  t.match(ended(context({ deployment }), begins), [{ id: id(1), deploymentId: id(8) }])
  t.match(ended(context({ deployment }), nothing), [{ id: id(1), deploymentId: id(7) }])
  t.notOk('deploymentId' in (ended(context(), nothing)[0] ?? {}))
  const [failed, blocked = {}] = refusedTooOften(context({ deployment }), waits)
  t.match(failed, { status: 'failed', deploymentId: id(7) })
  t.notOk('deploymentId' in blocked, 'what waits is not decided on yet')
})

t.test('what has no place waits in one blocked evaluation of the job', async (t) => {
  t.match(ended(context(), waits), [
    { id: id(1), status: 'complete', queued: [['web', 2]], blockedEval: id(101) },
    {
      id: id(101),
      status: 'blocked',
      triggeredBy: 'queued-allocs',
      previousEval: id(1),
      jobModifyIndex: 7,
      classes: [['v1:a', false]],
    },
  ])
  const open = [row(2, { status: 'blocked' }), row(3, { status: 'blocked' })]
  t.match(ended(context({ open }), waits), [
    { id: id(1), status: 'complete', blockedEval: id(2) },
    { id: id(2), status: 'blocked' },
    { id: id(3), status: 'canceled' },
  ])
  const itself = ended(context({ row: row(2, { status: 'blocked' }) }), waits)
  t.match(itself, [{ id: id(2), status: 'blocked', blockedEval: '', snapshotIndex: 9 }])
  t.equal(itself.length, 1)
})

t.test('a failed allocation is looked at again when it is due, by one evaluation', async (t) => {
  const later = { ...nothing, followUpMs: 31_000 }
  t.match(ended(context(), later), [
    { id: id(1), status: 'complete', nextEval: id(101) },
    { id: id(101), status: 'pending', triggeredBy: 'alloc-failure', waitUntilMs: 31_000 },
  ])
  const open = [row(2, { waitUntilMs: 30_000 })]
  t.equal(ended(context({ open }), later).length, 1)
  const tooLate = [row(2, { waitUntilMs: 40_000 })]
  t.equal(ended(context({ open: tooLate }), later).length, 2)
})

t.test(
  'what waits names the evaluation that looks at it again, where it is due with it',
  async (t) => {
    const waits = (number: number, atMs: number, followupEval = '') => ({
      id: id(number),
      atMs,
      followupEval,
    })
    const later = {
      ...nothing,
      followUpMs: 31_000,
      awaiting: [waits(7, 31_000), waits(8, 31_900), waits(9, 40_000)],
    }
    const both = [id(7), id(8)]
    t.same(followedUp(context(), later, ended(context(), later)), {
      evaluation: id(101),
      ids: both,
    })
    const open = [row(2, { waitUntilMs: 20_000 }), row(3, { waitUntilMs: 31_500 })]
    const withOthers = context({ open })
    const marks = followedUp(withOthers, later, ended(withOthers, later))
    t.same(marks, { evaluation: id(3), ids: both }, 'one that is there')
    const told = { ...later, awaiting: [waits(7, 31_000, id(3)), waits(9, 40_000)] }
    t.equal(followedUp(withOthers, told, ended(withOthers, told)), null, 'it says so already')
    t.equal(followedUp(context(), nothing, ended(context(), nothing)), null)
  },
)

t.test('what is cut off is looked at again when its time is over', async (t) => {
  const triggeredBy = 'max-disconnect-timeout'
  const later = { ...nothing, cutOffUntilMs: 31_000 }
  t.match(ended(context(), later), [{}, { id: id(101), triggeredBy, waitUntilMs: 31_000 }])
  const both = { ...later, followUpMs: 32_000 }
  t.match(ended(context(), both), [{}, { triggeredBy, waitUntilMs: 31_000 }], 'the first of both')
})

t.test(
  'what was refused too often fails and waits, what workers fail with comes again',
  async (t) => {
    t.match(refusedTooOften(context(), waits), [
      { id: id(1), status: 'failed', blockedEval: id(101) },
      { id: id(101), status: 'blocked', triggeredBy: 'max-plan-attempts' },
    ])
    t.match(givenUp(context()), [
      { id: id(1), status: 'failed', nextEval: id(101) },
      { id: id(101), triggeredBy: 'failed-follow-up', waitUntilMs: 61_000 },
    ])
  },
)

t.test('a blocked evaluation comes when a node that may do gets room', async (t) => {
  const blocked = new BlockedEvaluations()
  const about = { status: 'blocked' as const, snapshotIndex: 10 }
  t.ok(blocked.add(row(1, { ...about, classes: [['v1:a', false]] })))
  t.ok(blocked.add(row(2, { ...about, classes: [['v1:a', true]] })))
  t.ok(blocked.add(row(3, { ...about, classes: [['v1:a', false]], escaped: true })))
  t.same(
    blocked.gotRoom('v1:a', 11).map(({ id }) => id),
    [id(2), id(3)],
  )
  t.same(
    blocked.gotRoom('v1:b', 12).map(({ id }) => id),
    [id(1)],
  )
  // What came between the look of its worker and its word is not missed.
  t.notOk(blocked.add(row(4, about)))
  t.ok(blocked.add(row(5, { ...about, snapshotIndex: 12, triggeredBy: 'max-plan-attempts' })))
  t.same(
    blocked.takeRefused().map(({ id }) => id),
    [id(5)],
  )
  t.ok(blocked.add(row(6, { ...about, snapshotIndex: 12 })))
  blocked.keepOnly(new Set())
  t.equal(blocked.size, 0)
})

t.test(
  'with too many classes to remember, a blocked evaluation is rather looked at once more',
  async (t) => {
    const blocked = new BlockedEvaluations()
    const about = { status: 'blocked' as const, classes: [['v1:x', true]] as [string, boolean][] }
    const none = Array.from({ length: classesMax }, (_none, at): [string, boolean] => [
      `v1:${at}`,
      false,
    ])
    for (let at = 0; at < classesMax; at += 1) blocked.gotRoom(`v1:${at}`, 10 + at)
    t.ok(blocked.add(row(1, { ...about, classes: none, snapshotIndex: 9 })))
    blocked.gotRoom('v1:new', 9_000)
    t.notOk(blocked.add(row(2, { ...about, classes: none, snapshotIndex: 8_999 })))
    t.ok(blocked.add(row(2, { ...about, classes: none, snapshotIndex: 9_000 })))
  },
)
