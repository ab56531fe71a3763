/** The leader's first look at all nodes, and whom it asks to register again. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Heartbeats, type HeartbeatsContext } from '../../../src/domains/nodes/heartbeats.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'

void t.test(
  'a leader that cannot read the nodes yet waits without a view of the state',
  async (t) => {
    const clock = manualClock()
    let looks = 0
    let open = 0
    const context = {
      clock,
      log: silentLogger,
      settings: { ttlMs: 10_000, graceMs: 10_000, failoverMs: 60_000 },
      members: { agents: () => [], onChange: () => () => {} },
      applied: { onCommand: () => () => {} },
      view: () => {
        open += 1
        return {
          pages: async function* () {
            looks += 1
            if (looks === 1) throw new Error('the disk does not answer')
            yield []
          },
          close: () => void (open -= 1),
        }
      },
    } as unknown as HeartbeatsContext
    const duty = new Heartbeats().start(context)
    await setImmediate()
    t.equal(looks, 1)
    t.equal(open, 0)
    await eventuallyTrue('they are read', () => {
      clock.advance(100)
      return looks === 2 && open === 0
    })
    await duty.stop()
  },
)

void t.test('after a restore each node is asked to register again until it did', async (t) => {
  const clock = manualClock()
  const ids = Array.from({ length: 150 }, (_, at) => `node-${at}`)
  const context = {
    clock,
    log: silentLogger,
    settings: { ttlMs: 10_000, graceMs: 10_000, failoverMs: 60_000 },
    members: { agents: () => [], onChange: () => () => {} },
    applied: { onCommand: () => () => {} },
    propose: async () => {},
    view: () => ({
      pages: async function* () {
        yield ids.map((id) => ({ id, status: 'ready' }))
      },
      close: () => {},
    }),
  } as unknown as HeartbeatsContext
  const heartbeats = new Heartbeats()
  let duty = heartbeats.start(context)
  await setImmediate()
  t.same(heartbeats.heard(ids).unknown, [], 'none at an election')
  await duty.stop()

  heartbeats.replaced()
  duty = heartbeats.start(context)
  await setImmediate()
  const asked = heartbeats.heard(ids).unknown
  t.same(asked, ids.slice(0, 100), 'not all at once')
  for (const id of asked.slice(1)) heartbeats.registered(id)
  clock.advance(1_000)
  t.same(heartbeats.heard(ids).unknown, ['node-0', ...ids.slice(100)])
  await duty.stop()

  duty = heartbeats.start(context)
  await setImmediate()
  clock.advance(1_000)
  t.same(heartbeats.heard(ids).unknown, ['node-0', ...ids.slice(100)], 'nor are they forgotten')
  for (const id of ids) heartbeats.registered(id)
  t.same(heartbeats.heard(ids).unknown, [])
  await duty.stop()
})
