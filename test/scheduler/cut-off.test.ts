/** Allocations whose nodes are cut off for a while: replaced meanwhile, kept when they come back, lost when they do not. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { NodeRow } from '../../src/domains/nodes/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import { reasons } from '../../src/scheduler/reconcile.ts'
import { deadTask } from '../support/dead-task.ts'
import { allocationRow, decide, id, jobSpec, namesOf, nodeRow, scheduledJob } from './cluster.ts'

const sinceMs = 1_000_000
const windowMs = 60_000
const away = { MaxClientDisconnect: windowMs * 1e6 }
const [cutOff, back, down] = (['disconnected', 'ready', 'down'] as const).map((status): NodeRow =>
  nodeRow(1, {}, { status, statusUpdatedMs: sinceMs }),
) as [NodeRow, NodeRow, NodeRow]
const other = nodeRow(2)
const job = scheduledJob(jobSpec({}, { Count: 1, ...away }))

/** On the node that is cut off. */
function original(about: Partial<AllocationRow> = {}): AllocationRow {
  return allocationRow(0, about)
}

function replacement(about: Partial<AllocationRow> = {}): AllocationRow {
  return allocationRow(1, {
    index: 0,
    nodeId: id(2),
    createIndex: 9,
    previous: id(1_000),
    ...about,
  })
}

function at(nowMs: number, node: NodeRow, allocations: readonly AllocationRow[]): Decision {
  return decide({ nodes: [node, other], job, allocations, nowMs })
}

const stops = ({ stop }: Decision) =>
  stop.map(({ id, desiredDescription, lost }) => [id.slice(-1), desiredDescription, lost])

t.test(
  'what is cut off is unknown and replaced, and looked at again when its time is over',
  async (t) => {
    const decision = at(sinceMs + 1_000, cutOff, [original()])
    t.same([decision.stop, decision.unknown], [[], [id(1_000)]])
    t.match(decision.place, [
      { allocation: { name: 'job.web[0]', nodeId: id(2), previous: id(1_000), rescheduled: [] } },
    ])
    t.equal(decision.cutOffUntilMs, sinceMs + windowMs)
    t.equal(decision.followUpMs, null)
  },
)

t.test('while another runs in its place, nothing more is placed', async (t) => {
  const unknown = original({ clientStatus: 'unknown' })
  for (const clientStatus of ['pending', 'running'] as const) {
    const decision = at(sinceMs + 1_000, cutOff, [unknown, replacement({ clientStatus })])
    t.same([decision.stop, decision.place, decision.unknown], [[], [], []])
    t.equal(decision.cutOffUntilMs, sinceMs + windowMs)
  }
})

t.test('once its time is over it is lost, and its replacement stays', async (t) => {
  const unknown = original({ clientStatus: 'unknown' })
  const decision = at(sinceMs + windowMs, cutOff, [unknown, replacement()])
  t.same(stops(decision), [['0', reasons.lost, true]])
  t.same([decision.place, decision.cutOffUntilMs], [[], null])
  t.same(stops(at(sinceMs + 1, down, [unknown, replacement()])), [['0', reasons.lost, true]])
  const alone = at(sinceMs + windowMs, cutOff, [unknown])
  t.same(namesOf(alone), ['job.web[0]'])
})

t.test('what its group does not let be cut off, or what never ran, is lost at once', async (t) => {
  const plain = scheduledJob(jobSpec({}, { Count: 1 }))
  const nodes = [cutOff, other]
  const nowMs = sinceMs + 1
  const lost = decide({ nodes, job: plain, allocations: [original()], nowMs })
  t.same(stops(lost), [['0', reasons.lost, true]])
  t.same(lost.unknown, [])
  const pending = at(nowMs, cutOff, [original({ clientStatus: 'pending' })])
  t.same(stops(pending), [['0', reasons.lost, true]])
  t.equal(pending.place.length, 1)
})

t.test('once its node is back nothing moves before it was heard', async (t) => {
  const unknown = original({ clientStatus: 'unknown' })
  for (const allocations of [[unknown], [unknown, replacement()]]) {
    const decision = at(sinceMs + 2_000, back, allocations)
    t.same([decision.stop, decision.place, decision.unknown], [[], [], []])
    t.equal(decision.cutOffUntilMs, null)
  }
})

t.test('it came back and runs: its replacement goes', async (t) => {
  const decision = at(sinceMs + 2_000, back, [original(), replacement()])
  t.same(stops(decision), [['1', reasons.reconnected, false]])
  t.same(decision.place, [])
})

t.test('it came back and does not run, or not yet: its replacement stays', async (t) => {
  const failed = original({ clientStatus: 'failed' })
  t.same(stops(at(sinceMs + 2_000, back, [failed, replacement()])), [
    ['0', reasons.notNeeded, false],
  ])
  const complete = original({ clientStatus: 'complete' })
  t.same(stops(at(sinceMs + 2_000, back, [complete, replacement()])), [])
  const pending = original({ clientStatus: 'pending' })
  t.same(stops(at(sinceMs + 2_000, back, [pending, replacement()])), [
    ['0', reasons.notNeeded, false],
  ])
})

t.test('a newer version that took its place meanwhile stays', async (t) => {
  const [before, after] = [jobSpec({}, away), jobSpec({ Meta: { v: '2' } }, away)]
  const decision = decide({
    nodes: [back, other],
    specs: [before, after],
    job: scheduledJob(after, { version: 1 }),
    allocations: [original(), replacement({ jobVersion: 1 })],
  })
  t.same(stops(decision), [['0', reasons.notNeeded, false]])
})

t.test('a lower count, a stop and a move also end what is cut off', async (t) => {
  const unknown = original({ clientStatus: 'unknown' })
  const none = scheduledJob(jobSpec({}, { Count: 0, ...away }))
  const nowMs = sinceMs + 1_000
  const nodes = [cutOff, other]
  const allocations = [unknown, replacement()]
  const fewer = decide({ nodes, job: none, allocations, nowMs })
  const ends = new Map(fewer.stop.map(({ id, desiredDescription }) => [id, desiredDescription]))
  t.strictSame([ends.get(id(1_000)), ends.get(id(1_001))], [reasons.notNeeded, reasons.notNeeded])
  t.same([fewer.unknown, fewer.cutOffUntilMs], [[], null])
  const stopped = decide({ nodes, job: { ...job, stop: true }, allocations, nowMs })
  t.same(stops(stopped), [
    ['0', reasons.jobStopped, false],
    ['1', reasons.jobStopped, false],
  ])
  const moved = at(nowMs, cutOff, [original({ migrate: true })])
  t.same(stops(moved), [['0', reasons.migrated, false]])
  t.equal(moved.place.length, 1)
})

t.test('what was told to end and is lost before it did is lost, whatever its job is', async (t) => {
  const stopping = original({ desiredStatus: 'stop', desiredDescription: 'why' })
  for (const wanted of [job, { ...job, stop: true }, null]) {
    const decision = decide({ nodes: [down, other], job: wanted, allocations: [stopping] })
    t.same(stops(decision), [['0', 'why', true]])
  }
  t.same(stops(at(sinceMs + 1, cutOff, [{ ...stopping, clientStatus: 'unknown' }])), [])
})

t.test('of a job of every node it stays, and no other takes its place', async (t) => {
  const system = scheduledJob(jobSpec({ Type: 'system' }, away))
  const nowMs = sinceMs + 1_000
  const decision = decide({ nodes: [cutOff], job: system, allocations: [original()], nowMs })
  t.same([decision.stop, decision.place, decision.unknown], [[], [], [id(1_000)]])
  t.equal(decision.cutOffUntilMs, sinceMs + windowMs)
  const late = { nodes: [cutOff], job: system, nowMs: sinceMs + windowMs }
  const unknown = original({ clientStatus: 'unknown' })
  t.same(stops(decide({ ...late, allocations: [unknown] })), [['0', reasons.lost, true]])
})

t.test(
  'work that its agent ends by itself is replaced when it has ended for certain',
  async (t) => {
    const task = { Name: 'main', Driver: 'mock_driver', KillTimeout: 5e9 }
    const group = { Count: 1, StopAfterClientDisconnect: 30e9, Tasks: [task] }
    const ending = scheduledJob(jobSpec({}, group))
    const nodes = [down, other]
    const first = decide({ nodes, job: ending, allocations: [original()], nowMs: sinceMs })
    t.same(stops(first), [['0', reasons.lost, true]])
    t.same(first.place, [])
    t.equal(first.followUpMs, sinceMs + 35_000)

    const lost = original({
      clientStatus: 'lost',
      desiredStatus: 'stop',
      desiredDescription: reasons.lost,
      modifyMs: sinceMs,
    })
    const waits = decide({ nodes, job: ending, allocations: [lost], nowMs: sinceMs + 34_999 })
    t.same([waits.place, waits.followUpMs], [[], sinceMs + 35_000])
    const over = decide({ nodes, job: ending, allocations: [lost], nowMs: sinceMs + 35_000 })
    t.same(namesOf(over), ['job.web[0]'])
    const told = { ...lost, clientStatus: 'complete' as const }
    t.same(
      namesOf(decide({ nodes, job: ending, allocations: [told], nowMs: sinceMs + 1 })),
      ['job.web[0]'],
      'its agent said that it ended',
    )
    const allocations = [lost, replacement()]
    const again = decide({ nodes, job: ending, allocations, nowMs: sinceMs + 90_000 })
    t.same([again.place, again.stop, again.followUpMs], [[], [], null])
  },
)

t.test('batch work that was ended from outside is not done', async (t) => {
  const batch = scheduledJob(jobSpec({ Type: 'batch' }, away))
  const ended = (types: readonly string[]): AllocationRow =>
    replacement({
      desiredStatus: 'stop',
      clientStatus: 'complete',
      tasks: [deadTask(types)],
    })
  const nodes = [back, other]
  const killed = decide({
    nodes,
    job: batch,
    allocations: [original(), ended(['Killing', 'Terminated', 'Killed'])],
  })
  t.same([killed.stop, killed.place], [[], []], 'the one that is back goes on')
  const done = ended(['Killing', 'Terminated'])
  t.same(decide({ nodes, job: batch, allocations: [done] }).place, [], 'it ended by itself')
  const beside = ended(['Main Tasks Dead', 'Killing', 'Terminated', 'Killed'])
  t.same(decide({ nodes, job: batch, allocations: [beside] }).place, [])
})

t.test('its group says which of the two stays', async (t) => {
  const rows = (about: Partial<AllocationRow>, other: Partial<AllocationRow>) => [
    original(about),
    replacement(other),
  ]
  const stopped = (Reconcile: string, allocations: readonly AllocationRow[]) => {
    const spec = jobSpec({}, { Count: 1, Disconnect: { LostAfter: windowMs * 1e6, Reconcile } })
    const nodes = [back, other]
    const nowMs = sinceMs + 2_000
    return stops(decide({ nodes, job: scheduledJob(spec), allocations, nowMs }))
  }
  const theOriginal = [['0', reasons.reconnected, false]]
  const theReplacement = [['1', reasons.reconnected, false]]
  t.same(stopped('keep_original', rows({}, {})), theReplacement)
  t.same(stopped('keep_replacement', rows({}, {})), theOriginal)
  t.same(stopped('keep_replacement', rows({}, { clientStatus: 'pending' })), theReplacement)
  t.same(stopped('best_score', rows({}, {})), theReplacement, 'of equals the older one')
  t.same(stopped('best_score', rows(scored(1, 500_000), scored(2, 600_000))), theOriginal)
  t.same(stopped('best_score', rows(scored(1, 700_000), scored(2, 600_000))), theReplacement)
  t.same(stopped('longest_running', rows(runningSince(5), runningSince(9))), theReplacement)
  t.same(stopped('longest_running', rows(runningSince(9), runningSince(5))), theOriginal)
})

function scored(node: number, score: number): Partial<AllocationRow> {
  const { metrics } = original()
  return { metrics: { ...metrics, scores: [[id(node), 'normalized-score', score]] } }
}

function runningSince(startedMs: number): Partial<AllocationRow> {
  const state = { task: 'main', state: 'running', failed: false, restarts: 0 } as const
  return { tasks: [{ ...state, events: [], startedMs, finishedMs: null, lastRestartMs: null }] }
}

t.test('what nothing is to replace is waited for, and replaced once it is lost', async (t) => {
  const disconnect = { LostAfter: windowMs * 1e6, Replace: false }
  const lasting = scheduledJob(jobSpec({}, { Count: 2, Disconnect: disconnect }))
  const allocations = [original({ clientStatus: 'unknown' }), allocationRow(2, { nodeId: id(2) })]
  const nodes = [cutOff, other, nodeRow(3)]
  const meanwhile = decide({ nodes, job: lasting, allocations, nowMs: sinceMs + 1_000 })
  t.same([meanwhile.place, meanwhile.stop], [[], []])
  t.equal(meanwhile.cutOffUntilMs, sinceMs + windowMs)
  const lost = decide({ nodes, job: lasting, allocations, nowMs: sinceMs + windowMs })
  t.same(stops(lost), [['0', reasons.lost, true]])
  t.same(namesOf(lost), ['job.web[0]'])
  const updated = scheduledJob(
    jobSpec({ Meta: { v: '2' } }, { Count: 3, Disconnect: disconnect }),
    { version: 1 },
  )
  const after = decide({ nodes, job: updated, allocations, nowMs: sinceMs + 1_000 })
  t.notOk(namesOf(after).includes('job.web[0]'))
})
