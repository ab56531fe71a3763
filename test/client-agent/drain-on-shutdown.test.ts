/** The drain of an agent that leaves: asked for until a server does it, or long enough. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { drainMsMax, drainNode } from '../../src/client-agent/drain-on-shutdown.ts'
import { MusterError, type ErrorCode } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { AskServer } from '../../src/rpc/agent-contract.ts'
import { manualClock } from '../support/manual-clock.ts'

const drain = { deadlineMs: 60_000, force: false, ignoreSystemJobs: false }

/** `refusals`: how the first questions end, all others after the last of them as it is, or well after null. */
class Leaving {
  readonly clock = manualClock()
  readonly args: unknown[] = []
  /** How long it waits for its work to go. */
  waitedMs: number | null = null
  isOver = false

  constructor(refusals: readonly (ErrorCode | null)[], more: Partial<typeof drain> = {}) {
    const ask: AskServer = async ({ checked }, args) => {
      const code = refusals[Math.min(this.args.length, refusals.length - 1)] ?? null
      this.args.push(args)
      if (code !== null) throw new MusterError(code, 'refused')
      return checked({ index: 7 })
    }
    const runner = {
      untilDrained: async (_ignores: boolean, msMax: number) => {
        this.waitedMs = msMax
      },
    }
    const draining = { ask, runner, clock: this.clock, log: silentLogger }
    void drainNode({ ...drain, ...more }, draining).then(() => {
      this.isOver = true
    })
  }

  /** Until it is over. Resolves to how long that took. */
  async over(): Promise<number> {
    while (!this.isOver) {
      if (this.clock.timerCount > 0) this.clock.advance(250)
      await setImmediate()
    }
    return this.clock.monotonicMs()
  }
}

t.test('an agent between two servers asks until one of them drains it', async (t) => {
  const leaving = new Leaving(['unavailable', 'timeout', 'no_leader', null])
  t.equal(await leaving.over(), 250 + 500 + 1_000)
  t.strictSame(leaving.args.at(-1), { spec: { deadlineNs: 60e9, ignoreSystemJobs: false } })
  t.equal(leaving.args.length, 4)
  t.equal(leaving.waitedMs, 70_000)
  t.ok(drainMsMax(drain) >= 30_000 + 70_000)
})

t.test('it does so for a while, and no longer than the drain may take', async (t) => {
  const leaving = new Leaving(['unavailable'])
  t.equal(await leaving.over(), 30_000)
  t.equal(leaving.waitedMs, null)
  t.equal(await new Leaving(['unavailable'], { deadlineMs: 2_000 }).over(), 2_000)
})

t.test('a server that refuses is not asked again', async (t) => {
  const leaving = new Leaving(['permission_denied'])
  t.equal(await leaving.over(), 0)
  t.equal(leaving.args.length, 1)
  t.equal(leaving.waitedMs, null)
})
