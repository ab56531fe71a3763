/** When what is not to run on without servers ends, by a clock that the test moves. */
import t from 'tap'
import type { AllocationRunner } from '../../../src/client-agent/runner/allocation-runner.ts'
import { LostContact } from '../../../src/client-agent/runner/lost-contact.ts'
import { stopsAfterMsMin } from '../../../src/domains/allocations/window-model.ts'
import { nsPerMs } from '../../../src/lib/duration.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { manualClock } from '../../support/manual-clock.ts'

const lookMs = 500

/** An agent that holds groups, and no server answers it since `silentMs`. */
function agentWith(...held: readonly { readonly id: string; readonly afterMs: number | null }[]) {
  const clock = manualClock()
  const ended: string[] = []
  const over = new Set<string>()
  const contact = { silentMs: Infinity, renewals: 0 }
  const runnerOf = ({ id, afterMs }: (typeof held)[number]): AllocationRunner => {
    const StopAfterClientDisconnect = afterMs === null ? null : afterMs * nsPerMs
    const runner = {
      id,
      assigned: { group: { StopAfterClientDisconnect } },
      get isOver() {
        return over.has(id)
      },
      lostContact: () => {
        ended.push(id)
        return true
      },
    }
    return runner as unknown as AllocationRunner
  }
  const runners = held.map(runnerOf)
  const lost = new LostContact({
    contact: {
      silentMs: () => contact.silentMs,
      renew: () => (contact.renewals += 1),
    },
    held: () => runners,
    clock,
    log: silentLogger,
  })
  lost.start()
  /** A look each time. */
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += lookMs) clock.advance(lookMs)
  }
  const hold = (id: string, afterMs: number) => runners.push(runnerOf({ id, afterMs }))
  return { clock, contact, ended, over, pass, hold, lost }
}

t.test(
  'what is known for less time than the silence lasts runs on until it is as long',
  async (t) => {
    const { ended, pass, hold } = agentWith({ id: 'first', afterMs: 10_000 })
    // It is known from the first look on.
    pass(lookMs + 9_500)
    t.same(ended, [])
    hold('later', 10_000)
    pass(lookMs)
    t.same(ended, ['first'])
    ended.length = 0
    pass(9_500)
    t.notOk(ended.includes('later'), 'however long no server has answered')
    pass(lookMs)
    t.ok(ended.includes('later'))
  },
)

t.test('what is known for long runs on while servers answered less long ago', async (t) => {
  const { contact, ended, pass } = agentWith({ id: 'a', afterMs: 10_000 })
  contact.silentMs = 9_999
  pass(60_000)
  t.same(ended, [])
  contact.silentMs = 10_000
  pass(lookMs)
  t.same(ended, ['a'])
})

t.test('no less than the least time counts', async (t) => {
  const { contact, ended, pass } = agentWith({ id: 'a', afterMs: 1 })
  contact.silentMs = stopsAfterMsMin - 1
  pass(4 * stopsAfterMsMin)
  t.same(ended, [])
  contact.silentMs = stopsAfterMsMin
  pass(lookMs)
  t.same(ended, ['a'])
})

t.test('a heartbeat is asked for from half of the time on', async (t) => {
  const { contact, ended, pass } = agentWith({ id: 'a', afterMs: 10_000 })
  contact.silentMs = 4_999
  pass(20_000)
  t.equal(contact.renewals, 0)
  contact.silentMs = 5_000
  pass(2 * lookMs)
  t.equal(contact.renewals, 2, 'at each look')
  t.same(ended, [])
})

t.test('what is over, and what runs on without servers, is left alone', async (t) => {
  const held = [
    { id: 'over', afterMs: 10_000 },
    { id: 'any', afterMs: null },
  ]
  const { clock, contact, ended, over, pass, lost } = agentWith(...held)
  over.add('over')
  pass(60_000)
  t.same([ended, contact.renewals], [[], 0])
  lost.stop()
  t.equal(clock.timerCount, 0)
})
