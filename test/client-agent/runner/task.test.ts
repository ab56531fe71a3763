/** The life of one task: restarts by policy, and how it is ended. */
import t from 'tap'
import {
  dueMsOf,
  newTask,
  stateOf,
  stepTask,
  type TaskEffect,
  type TaskInput,
  type TaskMachine,
  type TaskRules,
} from '../../../src/client-agent/runner/task.ts'

const service: TaskRules = {
  attempts: 2,
  intervalMs: 60_000,
  delayMs: 1_000,
  mode: 'fail',
  endsBySuccess: false,
  killTimeoutMs: 5_000,
  shutdownDelayMs: 0,
  skipsDelay: false,
}
/** What the time of day is ahead of the clock that nobody sets. */
const aheadMs = 1e9
const stop: TaskInput = { type: 'stop', stop: { because: null, isFailure: false } }

function exit(code: number): TaskInput {
  return { type: 'exited', exit: { type: 'known', code, signal: 0, message: '' } }
}

/** A task that inputs are given to, each at its time. */
class Life {
  machine: TaskMachine = newTask(0)
  readonly effects: TaskEffect[] = []
  readonly #rules: TaskRules

  constructor(rules: Partial<TaskRules> = {}) {
    this.#rules = { ...service, ...rules }
  }

  at(nowMs: number, ...inputs: readonly TaskInput[]): this {
    for (const input of inputs) {
      const at = { nowMs, wallMs: aheadMs + nowMs, random: 0 }
      const step = stepTask(this.machine, this.#rules, input, at)
      this.machine = step.machine
      this.effects.push(...step.effects)
    }
    return this
  }

  running(): this {
    return this.at(0, { type: 'begin' }, { type: 'started' })
  }

  get events(): readonly string[] {
    return this.machine.events.map(({ type }) => type)
  }
}

t.test('a plain start tells of Received, Task Setup and Started', async (t) => {
  const life = new Life().running()
  t.strictSame(life.events, ['Received', 'Task Setup', 'Started'])
  t.strictSame(life.effects, ['start'])
  t.equal(stateOf(life.machine), 'running')
  t.equal(life.machine.startedMs, aheadMs, 'what is shown has the time of day')
  t.equal(life.machine.upMs, 0)
})

t.test(
  'a service that ends is started again after the delay, also where it ended well',
  async (t) => {
    for (const code of [0, 1]) {
      const life = new Life().running().at(10, exit(code))
      t.equal(stateOf(life.machine), 'pending')
      t.equal(dueMsOf(life.machine), 1_010)
      life.at(1_009, { type: 'elapsed' })
      t.strictSame(life.effects, ['start'], 'not before')
      life.at(1_010, { type: 'elapsed' }, { type: 'started' })
      t.strictSame(life.effects, ['start', 'start'])
      t.equal(life.machine.restarts, 1)
      t.equal(life.machine.lastRestartMs, aheadMs + 1_010)
      t.strictSame(life.events.slice(3), ['Terminated', 'Restarting', 'Started'])
    }
  },
)

t.test('a batch task that ends well is over', async (t) => {
  const life = new Life({ endsBySuccess: true }).running().at(5, exit(0))
  t.equal(stateOf(life.machine), 'dead')
  t.notOk(life.machine.failed)
  t.equal(life.machine.finishedMs, aheadMs + 5)
})

t.test('an exit code that nobody saw is a failure', async (t) => {
  const life = new Life({ endsBySuccess: true }).running()
  life.at(5, { type: 'exited', exit: { type: 'unknown', reason: 'the machine was started anew' } })
  t.equal(stateOf(life.machine), 'pending')
  t.match(life.machine.events[3]?.displayMessage, 'Exit code unknown')
})

t.test('attempts are counted within an interval, and what follows is the mode', async (t) => {
  const spent = (mode: 'fail' | 'delay'): Life => {
    const life = new Life({ mode }).running()
    for (const atMs of [0, 2_000]) {
      life.at(atMs, exit(1)).at(atMs + 1_000, { type: 'elapsed' }, { type: 'started' })
    }
    return life.at(4_000, exit(1))
  }
  const failed = spent('fail')
  t.equal(stateOf(failed.machine), 'dead')
  t.ok(failed.machine.failed)
  t.match(failed.machine.events.at(-1)?.displayMessage, 'Exceeded allowed attempts 2')
  const delayed = spent('delay')
  t.equal(dueMsOf(delayed.machine), 60_000, 'the end of the interval')
  const later = new Life()
    .running()
    .at(0, exit(1))
    .at(1_000, { type: 'elapsed' }, { type: 'started' })
  later.at(60_001, exit(1))
  t.strictSame(later.machine.interval, { sinceMs: 60_001, count: 1 }, 'a new interval')
})

t.test('a policy without attempts restarts nothing', async (t) => {
  const life = new Life({ attempts: 0 }).running().at(1, exit(1))
  t.ok(life.machine.failed)
  t.match(life.machine.events.at(-1)?.displayMessage, 'Policy allows no restarts')
})

t.test('a refused start is tried again where that may help', async (t) => {
  const refused = (canRetry: boolean): Life =>
    new Life().at(
      0,
      { type: 'begin' },
      { type: 'refused', event: { type: 'Driver Failure', text: 'no' }, canRetry },
    )
  t.equal(stateOf(refused(true).machine), 'pending')
  t.equal(stateOf(refused(false).machine), 'dead')
  t.strictSame(refused(false).events.slice(2), ['Driver Failure', 'Not Restarting'])
})

t.test('a stop asks, waits for the kill timeout, and kills', async (t) => {
  const life = new Life().running().at(100, stop)
  t.strictSame(life.effects, ['start', 'interrupt'])
  t.equal(dueMsOf(life.machine), 5_100)
  life.at(200, stop)
  t.strictSame(life.effects, ['start', 'interrupt'], 'a second word changes nothing')
  life.at(5_100, { type: 'elapsed' })
  t.strictSame(life.effects, ['start', 'interrupt', 'kill'])
  t.equal(dueMsOf(life.machine), null)
  life.at(5_200, exit(137))
  t.equal(stateOf(life.machine), 'dead')
  t.notOk(life.machine.failed, 'it ended because it was to')
  t.strictSame(life.events.slice(3), ['Killing', 'Terminated', 'Killed'])
})

t.test('the shutdown delay comes before the interrupt', async (t) => {
  const life = new Life({ shutdownDelayMs: 300 }).running().at(100, stop)
  t.strictSame(life.effects, ['start'])
  life.at(400, { type: 'elapsed' })
  t.strictSame(life.effects, ['start', 'interrupt'])
})

t.test('a start under way is given up, and what started all the same is ended', async (t) => {
  const refused = new Life().at(0, { type: 'begin' }, stop)
  t.strictSame(refused.effects, ['start', 'abortStart'])
  refused.at(1, { type: 'refused', event: { type: 'Driver Failure', text: '' }, canRetry: true })
  t.equal(stateOf(refused.machine), 'dead')
  t.notOk(refused.machine.failed)
  const started = new Life().at(0, { type: 'begin' }, stop).at(1, { type: 'started' })
  t.strictSame(started.effects, ['start', 'abortStart', 'interrupt'])
})

t.test('a restart by hand counts for no policy', async (t) => {
  const because = { type: 'Restart Signaled', text: 'User requested restart' }
  const life = new Life().running().at(1, { type: 'restart', because }).at(2, exit(0))
  t.strictSame(life.effects, ['start', 'interrupt', 'start'])
  t.equal(life.machine.restarts, 1)
  t.equal(life.machine.interval, null)
})

const unhealthy: TaskInput = {
  type: 'unhealthy',
  because: { type: 'Restart Signaled', text: 'healthcheck: check "up" unhealthy' },
}

t.test('what its check finds unhealthy is ended, and restarted by its policy', async (t) => {
  const life = new Life({ attempts: 1 }).running().at(100, unhealthy)
  t.strictSame(life.effects, ['start', 'interrupt'])
  life.at(150, unhealthy).at(200, exit(0))
  t.equal(dueMsOf(life.machine), 1_200, 'after the delay of the policy')
  t.strictSame(life.machine.interval, { sinceMs: 200, count: 1 })
  t.strictSame(life.events.slice(3), [
    'Restart Signaled',
    'Killing',
    'Terminated',
    'Killed',
    'Restarting',
  ])
  life.at(1_200, { type: 'elapsed' }, { type: 'started' })
  t.equal(life.machine.restarts, 1)
  life.at(2_000, unhealthy, exit(0))
  t.ok(life.machine.failed, 'the attempts are spent')
  t.match(life.machine.events.at(-1)?.displayMessage, 'Exceeded allowed attempts 1')
})

t.test('what does not run is not unhealthy, and who ends it for good goes before', async (t) => {
  const waits = new Life().running().at(1, exit(1), unhealthy)
  t.strictSame(waits.effects, ['start'])
  const batch = new Life({ endsBySuccess: true }).running().at(1, unhealthy, exit(0))
  t.equal(stateOf(batch.machine), 'pending', 'its exit code says nothing')
  const stopped = new Life({ attempts: 0 }).running().at(1, unhealthy, stop, exit(0))
  t.equal(stateOf(stopped.machine), 'dead')
  t.notOk(stopped.machine.failed)
  const back = new Life().running().at(1, unhealthy, again, exit(0))
  t.match(back.machine, { phase: { type: 'pending' }, again: true })
})

const again: TaskInput = { type: 'again', because: { type: 'Restart Signaled', text: 'all' } }

t.test('a task is put back to where it waits for its turn', async (t) => {
  const begin: TaskInput = { type: 'begin' }
  const refused: TaskInput = {
    type: 'refused',
    event: { type: 'Driver Failure', text: '' },
    canRetry: true,
  }
  const back = { phase: { type: 'pending' }, failed: false, restarts: 1, again: true }
  const running = new Life().running().at(1, again)
  t.strictSame(running.effects, ['start', 'interrupt'])
  t.match(running.at(2, exit(1)).machine, { ...back, interval: null, startedMs: aheadMs })
  running.at(3, begin, { type: 'started' })
  t.strictSame(running.effects, ['start', 'interrupt', 'start'])
  t.notOk('again' in running.machine, 'it has started')

  t.match(new Life({ attempts: 0 }).running().at(1, exit(1), again).machine, back, 'it failed')
  t.match(new Life({ endsBySuccess: true }).running().at(1, exit(0), again).machine, back)
  t.match(new Life().running().at(1, exit(1), again).machine, back, 'it waits for its restart')
  const restarting: TaskInput = { type: 'restart', because: { type: 'x', text: '' } }
  t.match(new Life().running().at(1, restarting, again, exit(1)).machine, back, 'it restarts')
  const starting = new Life().at(0, begin, again)
  t.strictSame(starting.effects, ['start', 'abortStart'])
  t.match(starting.at(1, refused).machine, back, 'its start is given up')
  const late = new Life().at(0, begin, again).at(1, { type: 'started' })
  t.match(late.at(2, exit(0)).machine, back, 'it started all the same')
  t.strictSame(late.effects, ['start', 'abortStart', 'interrupt'])
})

t.test('a task that is put back is ended for good when it is stopped', async (t) => {
  for (const life of [
    new Life().running().at(1, again, stop, exit(0)),
    new Life().at(0, { type: 'begin' }, again, stop, { type: 'started' }, exit(0)),
    new Life().running().at(1, again, exit(0), stop),
  ]) {
    t.equal(stateOf(life.machine), 'dead')
    t.notOk(life.machine.failed)
  }
  const stopped = new Life().running().at(1, stop, again, exit(0))
  t.equal(stateOf(stopped.machine), 'dead', 'one that is stopped does not come back')
})

t.test('of a task that waits for its restart nothing is left to stop', async (t) => {
  const life = new Life().running().at(1, exit(1), stop)
  t.equal(stateOf(life.machine), 'dead')
  t.strictSame(life.effects, ['start'])
})

t.test('ten events are kept', async (t) => {
  const life = new Life({ attempts: 50 }).running()
  for (let atMs = 0; atMs < 30_000; atMs += 2_000) {
    life.at(atMs, exit(1)).at(atMs + 1_000, { type: 'elapsed' }, { type: 'started' })
  }
  t.equal(life.events.length, 10)
  t.equal(life.events.at(-1), 'Started')
})

t.test('a task that its driver says has failed is none that succeeded, whatever its code', (t) => {
  const known = {
    type: 'known',
    code: 0,
    signal: 0,
    message: 'OOM Killed',
    oomKilled: true,
  } as const
  const batch = { endsBySuccess: true, attempts: 0 }
  const life = new Life(batch).running().at(5, { type: 'exited', exit: known })
  t.equal(life.machine.failed, false, 'another process of it, as exec has it')
  const other = new Life(batch).running()
  other.at(5, { type: 'exited', exit: { ...known, hasFailed: true } })
  t.equal(other.machine.failed, true)
  t.end()
})

t.test('what its driver lost of its output is told', (t) => {
  const outputLost = 'The end of the output may be lost: it was slow'
  const known = { type: 'known', code: 0, signal: 0, message: '' } as const
  const life = new Life({ endsBySuccess: true }).running()
  life.at(5, { type: 'exited', exit: { ...known, outputLost } })
  t.match(life.machine.events.slice(-2), [
    { type: 'Driver', message: outputLost },
    { type: 'Terminated' },
  ])
  t.equal(life.machine.failed, false)
  t.end()
})
