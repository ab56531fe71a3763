/** When duties start and stop: with leadership, and with the state that they were started on. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { silentLogger } from '../../src/lib/log.ts'
import { Leadership, type Duty } from '../../src/server/leadership.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'

const firstRequestsMs = 50

function leadershipOf() {
  const told: string[] = []
  const clock = manualClock()
  const listeners = new Set<() => void>()
  const replaced = new Set<() => void>()
  const node = { role: 'follower', term: 1, settled: false }
  let stopping: Promise<void> = Promise.resolve()
  const duty = (name: string): Duty => ({
    name,
    start() {
      told.push(`start ${name}`)
      return {
        async stop() {
          await stopping
          told.push(`stop ${name}`)
        },
      }
    },
  })
  const leadership = new Leadership({
    node: {
      status: () => node,
      onChange(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
    onReplaced(listener) {
      replaced.add(listener)
      return () => replaced.delete(listener)
    },
    duties: [duty('a'), duty('b')],
    firstRequestsMs,
    clock,
    logger: silentLogger,
  })
  return {
    leadership,
    told,
    clock,
    become: (role: string, term: number, settled = role === 'leader') => {
      Object.assign(node, { role, term, settled })
      for (const listener of listeners) listener()
    },
    replace: () => {
      for (const listener of replaced) listener()
    },
    holdStops: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      stopping = promise
      return resolve
    },
    listening: () => listeners.size + replaced.size,
    tells: (what: readonly string[]) =>
      eventuallyTrue(what.join(', '), () => {
        clock.advance(firstRequestsMs)
        return told.join() === what.join()
      }),
  }
}

const started = ['start a', 'start b']
const stopped = ['stop b', 'stop a']

void t.test('all duties start anew when the state is replaced under a leader', async () => {
  const { leadership, become, replace, tells } = leadershipOf()
  become('leader', 2)
  await tells(started)
  replace()
  await tells([...started, ...stopped, ...started])
  await leadership.stop()
  await tells([...started, ...stopped, ...started, ...stopped])
})

void t.test('duties start when the first entry of the term is applied, not before', async (t) => {
  const { leadership, become, replace, told, tells, clock } = leadershipOf()
  become('leader', 2, false)
  replace()
  clock.advance(firstRequestsMs)
  await setImmediate()
  t.same(told, [])
  become('leader', 2, true)
  await tells(started)
  become('leader', 3, false)
  await tells([...started, ...stopped])
  become('leader', 3, true)
  await tells([...started, ...stopped, ...started])
  await leadership.stop()
})

void t.test('requests that waited for a leader come before its duties', async (t) => {
  const { leadership, become, told, clock } = leadershipOf()
  const pass = async (ms: number) => {
    clock.advance(ms)
    await setImmediate()
  }
  become('leader', 2)
  await pass(0)
  await pass(firstRequestsMs - 1)
  t.same(told, [])
  become('leader', 2)
  await pass(1)
  t.same(told, started, 'news of the same term do not begin the moment anew')
  become('leader', 3)
  await pass(0)
  t.same(told, [...started, ...stopped])
  become('follower', 4)
  await pass(firstRequestsMs)
  t.same(told, [...started, ...stopped], 'a leader of a moment starts none')
  await leadership.stop()
  t.equal(clock.timerCount, 0)
})

void t.test('a state that is replaced while duties stop costs no second start', async () => {
  const { leadership, become, replace, holdStops, tells } = leadershipOf()
  become('leader', 2)
  await tells(started)
  const letStop = holdStops()
  replace()
  replace()
  letStop()
  await tells([...started, ...stopped, ...started])
  await leadership.stop()
  await tells([...started, ...stopped, ...started, ...stopped])
})

void t.test('a follower whose state is replaced starts nothing until it leads', async (t) => {
  const { leadership, become, replace, told, tells } = leadershipOf()
  replace()
  become('follower', 2)
  become('leader', 3)
  await tells(started)
  become('leader', 4)
  await tells([...started, ...stopped, ...started])
  become('follower', 5)
  await tells([...started, ...stopped, ...started, ...stopped])
  await leadership.stop()
  t.equal(told.length, 8)
})

void t.test('after a stop nothing is heard of any more', async (t) => {
  const { leadership, become, listening, told } = leadershipOf()
  await leadership.stop()
  become('leader', 2)
  t.equal(listening(), 0)
  t.same(told, [])
})
