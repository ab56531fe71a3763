/** What becomes of the allocations that there are: counts, updates, losses, moves, failures, ends. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { JobDraft } from '../../src/domains/jobs/draft-model.ts'
import type { JobSpec, TaskGroup } from '../../src/domains/jobs/model.ts'
import type { NodeRow } from '../../src/domains/nodes/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import { groupChange } from '../../src/scheduler/group-change.ts'
import { reasons } from '../../src/scheduler/reconcile.ts'
import { deadTask } from '../support/dead-task.ts'
import { allocationRow, decide, id, jobSpec, namesOf, nodeRow, scheduledJob } from './cluster.ts'

const nodes = [nodeRow(1), nodeRow(2), nodeRow(3)]
const secondNs = 1e9

function rows(count: number, about: Partial<AllocationRow> = {}): readonly AllocationRow[] {
  return Array.from({ length: count }, (_none, at) => allocationRow(at, about))
}

/** By the index of the name. */
function stopped(decision: Decision): readonly (readonly [string, string])[] {
  const all = [...decision.stop, ...decision.place.flatMap(({ stop }) => stop ?? [])]
  return all.map(({ id, desiredDescription }) => [id.slice(-2), desiredDescription] as const)
}

const countOf = (Count: number) => jobSpec({}, { Count })

t.test('what is as it should be stays', async (t) => {
  const decision = decide({ nodes, job: scheduledJob(countOf(3)), allocations: rows(3) })
  t.same([decision.place, decision.stop, decision.update], [[], [], []])
  t.same(decision.queued, [['web', 0]])
})

t.test('a higher count adds the lowest free names', async (t) => {
  const allocations = rows(4).filter(({ name }) => name !== 'job.web[1]')
  const decision = decide({ nodes, job: scheduledJob(countOf(5)), allocations })
  t.same(namesOf(decision), ['job.web[1]', 'job.web[4]'])
})

t.test('a lower count stops the highest names', async (t) => {
  const decision = decide({ nodes, job: scheduledJob(countOf(1)), allocations: rows(3) })
  t.same(stopped(decision), [
    ['01', reasons.notNeeded],
    ['02', reasons.notNeeded],
  ])
  t.same(decision.place, [])
})

t.test('a stopped or purged job and a group that is gone stop all', async (t) => {
  const allocations = [...rows(2), allocationRow(2, { clientStatus: 'complete' })]
  const ends = [scheduledJob(countOf(2), { stop: true }), null]
  for (const job of ends) {
    const decision = decide({ nodes, job, allocations })
    t.same(stopped(decision), [
      ['00', reasons.jobStopped],
      ['01', reasons.jobStopped],
    ])
  }
  const other = jobSpec({}, { Name: 'api' })
  const decision = decide({ nodes, job: scheduledJob(other), allocations: rows(1) })
  t.same(stopped(decision), [['00', reasons.notNeeded]])
  t.same(namesOf(decision), ['job.api[0]'])
})

t.test('what is on a node that is down or gone is lost, and placed anew', async (t) => {
  const around = [nodeRow(1, {}, { status: 'down' }), nodeRow(3)]
  const allocations = [
    allocationRow(0, { nodeId: id(1) }),
    allocationRow(1, { nodeId: id(2) }),
    allocationRow(2, { nodeId: id(3) }),
  ]
  const decision = decide({ nodes: around, job: scheduledJob(countOf(3)), allocations })
  t.same(stopped(decision), [
    ['00', reasons.lost],
    ['01', reasons.lost],
  ])
  t.ok(decision.stop.every(({ lost }) => lost))
  t.same(namesOf(decision), ['job.web[0]', 'job.web[1]'])
  t.ok(decision.place.every(({ allocation }) => allocation.previous === ''))
  t.ok(decision.place.every(({ allocation }) => allocation.nodeId === id(3)))
})

t.test('what a node turned into a loss is placed anew', async (t) => {
  const lost = allocationRow(0, { clientStatus: 'lost', desiredStatus: 'stop' })
  const decision = decide({ nodes, job: scheduledJob(countOf(1)), allocations: [lost] })
  t.same(namesOf(decision), ['job.web[0]'])
  t.same(decision.stop, [])
})

t.test('what is to move stops, and goes elsewhere with a link to it', async (t) => {
  const around = [nodeRow(1, {}, { eligible: false }), nodeRow(2)]
  const allocations = [allocationRow(0, { migrate: true }), allocationRow(1)]
  const decision = decide({ nodes: around, job: scheduledJob(countOf(2)), allocations })
  t.same(stopped(decision), [['00', reasons.migrated]])
  t.match(decision.place, [
    { allocation: { name: 'job.web[0]', previous: id(1_000), nodeId: id(2), rescheduled: [] } },
  ])
  const alone = decide({ nodes: around.slice(0, 1), job: scheduledJob(countOf(2)), allocations })
  t.same(stopped(alone), [['00', reasons.migrated]])
  t.same(alone.queued, [['web', 1]])
})

t.test('batch work that a drain stops is not begun again', async (t) => {
  const draining = (drain: Partial<NodeRow['drain']>): NodeRow => {
    const ended = { deadlineNs: 3_600e9, ignoreSystemJobs: false, startedMs: 0, forceMs: 3_600_000 }
    return nodeRow(1, {}, { eligible: false, drain: { ...ended, ...drain } })
  }
  const job = scheduledJob(jobSpec({ Type: 'batch' }))
  const before = allocationRow(0, { migrate: true, modifyMs: 3_600_000 })
  const decision = decide({ nodes: [draining({}), nodeRow(2)], job, allocations: [before] })
  t.same(stopped(decision), [['00', reasons.drained]])
  t.same(decision.place, [])
  const after = {
    ...before,
    desiredStatus: 'stop' as const,
    desiredDescription: reasons.drained,
    clientStatus: 'complete' as const,
  }
  t.same(decide({ nodes, job, allocations: [after] }).place, [])
  // One that an operator stops is.
  const moved = decide({ nodes, job, allocations: [before] })
  t.same(namesOf(moved), ['job.web[0]'])
  // Also on a node that is drained, as long as the drain waits for its end.
  const early = { ...before, modifyMs: 3_599_999 }
  for (const drain of [{}, { deadlineNs: 0, forceMs: null }]) {
    const stopped = decide({ nodes: [draining(drain), nodeRow(2)], job, allocations: [early] })
    t.same(namesOf(stopped), ['job.web[0]'])
  }
  const atOnce = draining({ deadlineNs: -1, startedMs: 3_599_999, forceMs: 3_599_998 })
  t.same(namesOf(decide({ nodes: [atOnce, nodeRow(2)], job, allocations: [early] })), [])
})

t.test('batch work that ended is done, of this version', async (t) => {
  const allocations = rows(2, { clientStatus: 'complete' })
  const job = scheduledJob(jobSpec({ Type: 'batch' }, { Count: 2 }))
  t.same(decide({ nodes, job, allocations }).place, [])
  const changed = scheduledJob(job.spec, { version: 1 })
  t.equal(decide({ nodes, job: changed, allocations }).place.length, 2)
  // A service is to run on.
  t.equal(decide({ nodes, job: scheduledJob(countOf(2)), allocations }).place.length, 2)
})

t.test('batch work that its agent cut short is begun again', async (t) => {
  const job = scheduledJob(jobSpec({ Type: 'batch' }, { Count: 2 }))
  const killed = deadTask(['Killing', 'Terminated', 'Killed'])
  const neverBegan = deadTask(['Received'], { startedMs: null })
  const allocations = [killed, neverBegan].map((task, at) =>
    allocationRow(at, { clientStatus: 'complete', tasks: [task] }),
  )
  t.same(namesOf(decide({ nodes, job, allocations })), ['job.web[0]', 'job.web[1]'])
})

t.test('what tasks do not notice is changed in place, all else by a new allocation', async (t) => {
  const before = jobSpec()
  const changes: readonly (readonly [JobDraft, Record<string, unknown>, 'inPlace' | 'new'])[] = [
    [{ Priority: 70 }, {}, 'inPlace'],
    [{}, { RestartPolicy: { Attempts: 9 } }, 'inPlace'],
    [{}, { Services: [{ Name: 'web' }] }, 'inPlace'],
    [
      { Constraints: [{ LTarget: '${attr.kernel.name}', RTarget: 'linux', Operand: '=' }] },
      {},
      'inPlace',
    ],
    [{ Constraints: [{ LTarget: '${node.class}', RTarget: 'x', Operand: '=' }] }, {}, 'new'],
    [{ Meta: { a: 'b' } }, {}, 'new'],
    [{}, { EphemeralDisk: { SizeMB: 400 } }, 'new'],
    [{}, { Networks: [{ DynamicPorts: [{ Label: 'http' }] }] }, 'new'],
    [{}, { Tasks: [{ Name: 'main', Driver: 'mock_driver', Config: { run_for: '1s' } }] }, 'new'],
  ]
  for (const [draft, group, expected] of changes) {
    const after = jobSpec(draft, group)
    const job = scheduledJob(after, { version: 1 })
    const decision = decide({ nodes, job, allocations: rows(1), specs: [before, after] })
    const text = JSON.stringify([draft, group])
    if (expected === 'inPlace') {
      t.match(decision.update, [{ id: id(1_000), jobVersion: 1 }], text)
      t.same([decision.place, decision.stop], [[], []], text)
    } else {
      t.same(decision.update, [], text)
      t.equal(decision.place.length + decision.queued.length, 2 - decision.failed.length, text)
    }
  }
})

t.test('the order in which tasks are written changes nothing', async (t) => {
  const tasks = ['a', 'b'].map((Name) => ({
    Name,
    Driver: 'mock_driver',
    Constraints: [{ LTarget: '${node.class}', RTarget: `no-${Name}`, Operand: '!=' }],
    Resources: { MemoryMaxMB: 400 + Name.charCodeAt(0) },
  }))
  const [before, after] = [tasks, tasks.toReversed()].map((Tasks) => jobSpec({}, { Tasks }))
  if (before === undefined || after === undefined) throw new Error('there are two')
  const same = groupChange(
    { job: before, group: groupOf(before) },
    { job: after, group: groupOf(after) },
  )
  t.same(same, { type: 'inPlace', looksAgain: false })
  const job = scheduledJob(after, { version: 1 })
  const decision = decide({ nodes, job, allocations: rows(1), specs: [before, after] })
  t.match(decision.update, [{ id: id(1_000), jobVersion: 1 }])
  t.same([decision.place, decision.stop], [[], []])
})

function groupOf({ TaskGroups: [group] }: JobSpec): TaskGroup {
  if (group === undefined) throw new Error('it has a group')
  return group
}

t.test('what is left of a purged job of the same name is replaced', async (t) => {
  const left = allocationRow(0, { jobCreateIndex: 5 })
  const decision = decide({ nodes, job: scheduledJob(countOf(1)), allocations: [left] })
  t.same([decision.update, stopped(decision)], [[], [['00', reasons.updated]]])
  t.match(decision.place, [{ allocation: { jobCreateIndex: 10, name: 'job.web[0]' } }])
})

const newTask = { Tasks: [{ Name: 'main', Driver: 'mock_driver', Env: { A: '1' } }] }

t.test(
  'so many are replaced at a time as the update allows, when those before are healthy',
  async (t) => {
    const update = { MaxParallel: 2 }
    const before = jobSpec({}, { Count: 5, Update: update })
    const after = jobSpec({}, { Count: 5, Update: update, ...newTask })
    const job = scheduledJob(after, { version: 1 })
    const specs = [before, after]
    const first = decide({ nodes, job, allocations: rows(5), specs })
    t.same(namesOf(first), ['job.web[0]', 'job.web[1]'])
    t.same(stopped(first), [
      ['00', reasons.updated],
      ['01', reasons.updated],
    ])
    const under = (healthy: number) => [
      ...rows(2, { jobVersion: 1 }).map((row, at) => ({
        ...row,
        health: at < healthy ? { healthy: true, timeMs: 1 } : null,
      })),
      ...rows(5).slice(2),
    ]
    const waits = decide({ nodes, job, allocations: under(0), specs })
    t.same(namesOf(waits), [])
    t.same(namesOf(decide({ nodes, job, allocations: under(1), specs })), ['job.web[2]'])
    t.same(namesOf(decide({ nodes, job, allocations: under(2), specs })), [
      'job.web[2]',
      'job.web[3]',
    ])
  },
)

t.test(
  'an update on a full node stops what it replaces, and places the new one later',
  async (t) => {
    const task = (CPU: number, Env: Record<string, string> = {}) => ({
      Tasks: [{ Name: 'main', Driver: 'mock_driver', Env, Resources: { CPU, MemoryMB: 10 } }],
    })
    const resources = {
      tasks: [{ task: 'main', cpuMhz: 3_000, memoryMb: 10 }],
      diskMb: 1,
      ports: [],
    }
    const allocations = [allocationRow(0, { resources })]
    const specs = [jobSpec({}, task(3_000)), jobSpec({}, task(3_000, { A: '1' }))]
    const [, after] = specs
    if (after === undefined) return
    const one = [nodeRow(1)]
    const job = scheduledJob(after, { version: 1 })
    const decision = decide({ nodes: one, job, allocations, specs })
    t.same(stopped(decision), [['00', reasons.updated]])
    t.same([decision.place, decision.failed], [[], []])
    t.same(decision.queued, [['web', 1]])
    // What fits nowhere leaves the old one as it is.
    const large = jobSpec({}, task(5_000))
    const never = decide({
      nodes: one,
      job: scheduledJob(large, { version: 1 }),
      allocations,
      specs: [jobSpec({}, task(3_000)), large],
    })
    t.same([never.stop, never.place], [[], []])
    t.equal(never.failed.length, 1)
  },
)

t.test('a failed one is placed anew after its delay, away from where it failed', async (t) => {
  const policy = {
    ReschedulePolicy: {
      Unlimited: true,
      Delay: 30 * secondNs,
      DelayFunction: 'exponential',
      MaxDelay: 3_600 * secondNs,
    },
  }
  const job = scheduledJob(jobSpec({}, policy))
  const failed = allocationRow(0, { clientStatus: 'failed', createMs: 0, modifyMs: 1_000_000 })
  const early = decide({ nodes, job, allocations: [failed], nowMs: 1_010_000 })
  t.same([early.place, early.stop], [[], []])
  t.equal(early.followUpMs, 1_030_000)
  const due = decide({ nodes, job, allocations: [failed], nowMs: 1_030_000 })
  t.same(stopped(due), [['00', reasons.rescheduled]])
  t.match(due.place, [
    {
      allocation: {
        name: 'job.web[0]',
        previous: failed.id,
        rescheduled: [{ timeMs: 1_030_000, allocation: failed.id, node: id(1), delayMs: 30_000 }],
      },
    },
  ])
  t.not(due.place[0]?.allocation.nodeId, id(1))
  const again = {
    ...failed,
    createMs: 1_030_000,
    modifyMs: 1_040_000,
    rescheduled: due.place[0]?.allocation.rescheduled ?? [],
  }
  const second = decide({ nodes, job, allocations: [again], nowMs: 1_050_000 })
  t.equal(second.followUpMs, 1_040_000 + 60_000)
})

t.test('attempts of one interval are counted, and then it stays failed', async (t) => {
  const policy = {
    ReschedulePolicy: { Unlimited: false, Attempts: 1, Interval: 60 * secondNs, Delay: 0 },
  }
  const job = scheduledJob(jobSpec({ Type: 'batch' }, policy))
  const tried = (agoMs: number) =>
    allocationRow(0, {
      clientStatus: 'failed',
      modifyMs: 1_000_000,
      rescheduled: [{ timeMs: 1_000_000 - agoMs, allocation: id(1), node: id(1), delayMs: 0 }],
    })
  const spent = decide({ nodes, job, allocations: [tried(59_000)], nowMs: 2_000_000 })
  t.same([spent.place, spent.stop, spent.followUpMs], [[], [], null])
  const anew = decide({ nodes, job, allocations: [tried(61_000)], nowMs: 2_000_000 })
  t.equal(anew.place.length, 1)
})

t.test('more attempts than an allocation knows of come to an end as well', async (t) => {
  const ReschedulePolicy = { Unlimited: false, Attempts: 40, Interval: 3_600 * secondNs, Delay: 0 }
  const job = scheduledJob(jobSpec({ Type: 'batch' }, { ReschedulePolicy }))
  const before = { timeMs: 999_000, allocation: id(1), node: id(1), delayMs: 0 }
  const tried = (times: number) =>
    allocationRow(0, {
      clientStatus: 'failed',
      modifyMs: 1_000_000,
      rescheduled: Array.from({ length: times }, () => before),
    })
  t.equal(decide({ nodes, job, allocations: [tried(31)], nowMs: 2_000_000 }).place.length, 1)
  t.same(decide({ nodes, job, allocations: [tried(32)], nowMs: 2_000_000 }).place, [])
})

t.test('two of one name become one', async (t) => {
  const allocations = [allocationRow(0), allocationRow(1, { index: 0 })]
  const decision = decide({ nodes, job: scheduledJob(countOf(2)), allocations })
  t.same(stopped(decision), [['01', reasons.notNeeded]])
  t.same(namesOf(decision), ['job.web[1]'])
})
