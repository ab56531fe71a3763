/** The tasks of an allocation together: turns, leaders, siblings, and what is said of all of them. */
import t from 'tap'
import {
  canRunAgain,
  isOver,
  newAllocation,
  nextDueMs,
  planOf,
  statusOf,
  stepAllocation,
  taskStates,
  type AllocationInput,
  type AllocationMachine,
  type AllocationPlan,
} from '../../../src/client-agent/runner/allocation.ts'
import { withDefaults } from '../../../src/domains/jobs/defaults-model.ts'
import type { JobDraft } from '../../../src/domains/jobs/draft-model.ts'

type Tasks = NonNullable<NonNullable<JobDraft['TaskGroups']>[number]['Tasks']>

function planned(type: string, Tasks: Tasks, ShutdownDelay: number): AllocationPlan {
  const RestartPolicy = { Attempts: 0, Interval: 1e9, Delay: 1e9, Mode: 'fail' }
  const job = {
    ID: 'j',
    Type: type,
    TaskGroups: [{ Name: 'g', RestartPolicy, ShutdownDelay, Tasks }],
  }
  const [group] = withDefaults(job, 'default').TaskGroups
  return group === undefined ? [] : planOf({ jobType: type, group }, 30_000)
}

class Together {
  machine: AllocationMachine
  nowMs = 1
  readonly #plan: AllocationPlan
  effects: string[] = []

  constructor(type: string, tasks: Tasks, groupDelayNs = 0) {
    this.#plan = planned(type, tasks, groupDelayNs)
    this.machine = newAllocation(this.#plan, 0)
    this.#step({ type: 'begin' })
  }

  started(...names: readonly string[]): this {
    for (const task of names) this.#step({ type: 'task', task, input: { type: 'started' } })
    return this
  }

  exited(task: string, code: number): this {
    const exit = { type: 'known', code, signal: 0, message: '' } as const
    return this.#step({ type: 'task', task, input: { type: 'exited', exit } })
  }

  stop(): this {
    return this.#step({ type: 'stop' })
  }

  elapsed(ms: number): this {
    this.nowMs += ms
    return this.#step({ type: 'elapsed' })
  }

  giveUp(): this {
    const because = { type: 'Killing', text: 'No server answered' }
    return this.#step({ type: 'giveUp', stop: { because, isFailure: true } })
  }

  again(): this {
    return this.#step({ type: 'again', because: { type: 'Restart Signaled', text: 'all' } })
  }

  get canRunAgain(): boolean {
    return canRunAgain(this.machine, this.#plan)
  }

  get restarts(): readonly number[] {
    return this.machine.tasks.map(({ restarts }) => restarts)
  }

  /** Since the last look. */
  get did(): readonly string[] {
    const did = this.effects
    this.effects = []
    return did
  }

  get status(): string {
    return statusOf(this.machine).clientStatus
  }

  eventsOf(name: string): readonly string[] {
    const task = taskStates(this.machine, this.#plan).find(({ task }) => task === name)
    return task?.events.map(({ type }) => type) ?? []
  }

  #step(input: AllocationInput): this {
    const { machine, effects } = stepAllocation(this.machine, this.#plan, input, {
      nowMs: this.nowMs,
      wallMs: this.nowMs,
      random: 0,
    })
    this.machine = machine
    this.effects.push(...effects.map(({ task, type }) => `${type} ${task}`))
    return this
  }
}

t.test('tasks start together, and the allocation is what they are', async (t) => {
  const all = new Together('batch', [{ Name: 'a' }, { Name: 'b' }])
  t.strictSame(all.did, ['start a', 'start b'])
  t.equal(all.status, 'pending')
  t.equal(all.started('a').status, 'running')
  all.started('b').exited('a', 0)
  t.equal(all.status, 'running')
  t.equal(all.exited('b', 0).status, 'complete')
  t.ok(isOver(all.machine))
})

t.test(
  'a task that failed ends its siblings, and the allocation failed once all are over',
  async (t) => {
    const all = new Together('service', [{ Name: 'a' }, { Name: 'b' }]).started('a', 'b')
    all.effects = []
    all.exited('a', 1)
    t.strictSame(all.did, ['interrupt b'])
    t.equal(all.status, 'running', 'b still runs')
    t.ok(all.eventsOf('b').includes('Sibling Task Failed'))
    t.equal(all.exited('b', 0).status, 'failed')
  },
)

t.test(
  'what comes before the main tasks has its turn first, and what follows comes last',
  async (t) => {
    const all = new Together('batch', [
      { Name: 'main' },
      { Name: 'init', Lifecycle: { Hook: 'prestart' } },
      { Name: 'proxy', Lifecycle: { Hook: 'prestart', Sidecar: true } },
      { Name: 'after', Lifecycle: { Hook: 'poststart' } },
      { Name: 'clean', Lifecycle: { Hook: 'poststop' } },
    ])
    t.strictSame(all.did, ['start init', 'start proxy'])
    all.started('init', 'proxy')
    t.strictSame(all.did, [], 'init has not ended')
    t.strictSame(all.exited('init', 0).did, ['start main'])
    t.strictSame(all.started('main').did, ['start after'])
    t.strictSame(all.started('after').exited('after', 0).did, [])
    t.strictSame(all.exited('main', 0).did, ['interrupt proxy'])
    t.ok(all.eventsOf('proxy').includes('Main Tasks Dead'))
    t.strictSame(all.exited('proxy', 0).did, ['start clean'])
    t.equal(all.status, 'pending')
    t.equal(all.started('clean').exited('clean', 0).status, 'complete')
  },
)

/** A batch whose `after` runs when its main tasks have ended. */
function withAfter(): Together {
  const all = new Together('batch', [
    { Name: 'main' },
    { Name: 'proxy', Lifecycle: { Hook: 'prestart', Sidecar: true } },
    { Name: 'after', Lifecycle: { Hook: 'poststart' } },
    { Name: 'watch', Lifecycle: { Hook: 'poststart', Sidecar: true } },
    { Name: 'clean', Lifecycle: { Hook: 'poststop' } },
  ])
  all.started('proxy').started('main').started('after', 'watch')
  all.effects = []
  return all.exited('main', 0)
}

t.test('a task after the main ones runs to its end, and only then the sidecars end', async (t) => {
  const all = withAfter()
  t.strictSame(all.did, [], 'after still runs')
  t.equal(all.status, 'running')
  t.notOk(all.canRunAgain, 'it comes to its end')
  t.strictSame(all.exited('after', 0).did, ['interrupt proxy', 'interrupt watch'])
  t.notOk(all.eventsOf('after').includes('Main Tasks Dead'))
  t.ok(all.eventsOf('watch').includes('Main Tasks Dead'))
  t.strictSame(all.exited('proxy', 0).exited('watch', 0).did, ['start clean'])
  t.equal(all.started('clean').exited('clean', 0).status, 'complete')
})

t.test(
  'a task that runs on after the main ones ends with a stop, and its failure counts',
  async (t) => {
    const stopped = withAfter().stop()
    t.strictSame(stopped.did, ['interrupt after'])
    t.strictSame(stopped.exited('after', 0).did, ['interrupt proxy', 'interrupt watch'])
    const failed = withAfter().exited('after', 1)
    t.strictSame(failed.did, ['interrupt proxy', 'interrupt watch'])
    t.ok(failed.eventsOf('proxy').includes('Sibling Task Failed'))
    failed.exited('proxy', 0).exited('watch', 0).started('clean').exited('clean', 0)
    t.equal(failed.status, 'failed')
  },
)

t.test('a task after the main ones that starts when they end starts all the same', async (t) => {
  const all = new Together('batch', [
    { Name: 'main' },
    { Name: 'after', Lifecycle: { Hook: 'poststart' } },
  ])
  all.started('main').exited('main', 0)
  t.strictSame(all.did, ['start main', 'start after'])
  t.strictSame(all.started('after').did, [])
  t.equal(all.exited('after', 0).status, 'complete')
})

t.test('the others end after their leader', async (t) => {
  const tasks = [{ Name: 'lead', Leader: true }, { Name: 'side' }]
  const ended = new Together('service', tasks).started('lead', 'side')
  ended.effects = []
  t.strictSame(ended.exited('lead', 1).did, ['interrupt side'])
  const stopped = new Together('service', tasks).started('lead', 'side')
  stopped.effects = []
  t.equal(nextDueMs(stopped.machine), null)
  t.strictSame(stopped.stop().did, ['interrupt lead'])
  t.equal(nextDueMs(stopped.machine), 5_001, 'the kill timeout')
  t.strictSame(stopped.exited('lead', 0).did, ['interrupt side'])
  t.ok(stopped.eventsOf('side').includes('Leader Task Dead'))
  t.equal(stopped.exited('side', 0).status, 'complete')
})

t.test('the delay of the group comes once, before the first end', async (t) => {
  const begun = (): Together => {
    const tasks: Tasks = [
      { Name: 'lead', Leader: true, ShutdownDelay: 1e9 },
      { Name: 'other', ShutdownDelay: 2e9 },
      { Name: 'next' },
    ]
    const all = new Together('service', tasks, 4e9).started('lead', 'other', 'next')
    all.effects = []
    return all
  }
  const stopped = begun().stop()
  t.strictSame(stopped.elapsed(4_999).did, [])
  t.strictSame(stopped.elapsed(1).did, ['interrupt lead'])
  t.strictSame(stopped.exited('lead', 0).did, ['interrupt next'], 'which has none of its own')
  t.strictSame(stopped.elapsed(1_999).did, [])
  t.strictSame(stopped.elapsed(1).did, ['interrupt other'])
  const led = begun().exited('lead', 0)
  t.strictSame(led.elapsed(3_999).did, [], 'nobody knew of the end before')
  t.strictSame(led.elapsed(1).did, ['interrupt next'])
  t.strictSame(led.elapsed(2_000).did, ['interrupt other'])
  const alone = begun().giveUp()
  t.strictSame(alone.elapsed(4_000).did, ['interrupt next'])
  t.strictSame(alone.elapsed(1_000).did, ['interrupt lead'])
  t.strictSame(alone.elapsed(1_000).did, ['interrupt other'])
})

t.test('sidecars serve the others until these have ended', async (t) => {
  const tasks: Tasks = [
    { Name: 'proxy', Lifecycle: { Hook: 'prestart', Sidecar: true } },
    { Name: 'main' },
    { Name: 'other' },
    { Name: 'clean', Lifecycle: { Hook: 'poststop' } },
  ]
  const begun = (given: Tasks): Together => {
    const all = new Together('service', given).started('proxy', 'main', 'other')
    all.effects = []
    return all
  }
  const stopped = begun(tasks).stop()
  t.strictSame(stopped.did, ['interrupt main', 'interrupt other'])
  t.strictSame(stopped.exited('main', 0).did, [])
  t.strictSame(stopped.exited('other', 0).did, ['interrupt proxy'])
  t.strictSame(stopped.exited('proxy', 0).did, ['start clean'])
  const failed = begun(tasks).exited('main', 1)
  t.strictSame(failed.did, ['interrupt other'])
  t.strictSame(failed.exited('other', 0).did, ['interrupt proxy'])
  const alone = begun(tasks).giveUp()
  t.strictSame(alone.did, ['interrupt main', 'interrupt other'])
  t.strictSame(alone.exited('other', 0).did, [])
  t.strictSame(alone.exited('main', 0).did, ['interrupt proxy'])
  t.equal(alone.exited('proxy', 0).started('clean').exited('clean', 0).status, 'failed')
  const led = begun(
    tasks.map((task) => (task.Name === 'proxy' ? { ...task, Leader: true } : task)),
  ).stop()
  t.strictSame(led.did, ['interrupt proxy'], 'but for a leader')
  t.strictSame(led.exited('proxy', 0).did, ['interrupt main', 'interrupt other'])
})

t.test('an allocation that is stopped before anything ran is complete', async (t) => {
  const all = new Together('service', [
    { Name: 'init', Lifecycle: { Hook: 'prestart' } },
    { Name: 'main' },
    { Name: 'clean', Lifecycle: { Hook: 'poststop' } },
  ])
  t.strictSame(all.stop().did, ['start init', 'abortStart init'])
  t.strictSame(all.started('init').did, ['interrupt init'])
  t.strictSame(all.exited('init', 130).did, [])
  t.equal(all.status, 'complete')
})

const lifecycle: Tasks = [
  { Name: 'main' },
  { Name: 'init', Lifecycle: { Hook: 'prestart' } },
  { Name: 'proxy', Lifecycle: { Hook: 'prestart', Sidecar: true } },
  { Name: 'after', Lifecycle: { Hook: 'poststart' } },
  { Name: 'clean', Lifecycle: { Hook: 'poststop' } },
]

/** All but the last turn had theirs. */
function running(): Together {
  const all = new Together('service', lifecycle).started('init', 'proxy').exited('init', 0)
  all.started('main', 'after').exited('after', 0)
  all.effects = []
  return all
}

t.test('all tasks run again in their turns, once what runs has ended', async (t) => {
  const all = running().again()
  t.strictSame(all.did, ['interrupt main', 'interrupt proxy'])
  t.strictSame(all.exited('proxy', 0).did, [], 'main still runs')
  t.equal(all.status, 'running')
  t.strictSame(all.exited('main', 1).did, ['start init', 'start proxy'])
  t.equal(all.status, 'pending')
  t.strictSame(all.started('init', 'proxy').did, [])
  t.strictSame(all.exited('init', 0).did, ['start main'])
  t.strictSame(all.started('main').did, ['start after'], 'only now')
  t.strictSame(all.restarts, [1, 1, 1, 1, 0], 'clean did not run yet')
  all.started('after').exited('after', 0).exited('main', 0)
  t.notOk(isOver(all.machine))
})

t.test('the allocation ends as ever when it is stopped while all is to run again', async (t) => {
  const early = running().again().exited('proxy', 0).stop()
  early.effects = []
  t.strictSame(early.exited('main', 0).did, ['start clean'], 'it ran before')
  t.equal(early.started('clean').exited('clean', 0).status, 'complete')
  const late = running().again().exited('proxy', 0).exited('main', 0).started('init').stop()
  late.effects = []
  t.notOk(late.canRunAgain)
  t.strictSame(late.again().did, [])
  t.strictSame(late.started('proxy').did, [], 'init has not ended')
  t.strictSame(late.exited('init', 0).did, ['interrupt proxy'])
  t.strictSame(late.exited('proxy', 0).did, ['start clean'])
})

t.test('nothing runs again of an allocation that ends, or has ended', async (t) => {
  const main = new Together('service', [{ Name: 'a' }, { Name: 'b' }]).started('a', 'b')
  t.ok(main.canRunAgain)
  main.exited('a', 1)
  main.effects = []
  t.notOk(main.canRunAgain, 'b ends because of a')
  t.strictSame(main.again().did, [])
  main.exited('b', 0)
  t.notOk(main.canRunAgain)
  t.strictSame(main.again().did, [])
  t.equal(main.status, 'failed')
})

t.test('no task has longer to end than its agent allows', (t) => {
  const slow = new Together('service', [{ Name: 'a', KillTimeout: 3_600e9 }]).started('a').stop()
  t.equal(nextDueMs(slow.machine), 30_001)
  t.end()
})
