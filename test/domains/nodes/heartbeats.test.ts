/** The leader's first look at all nodes. */
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
