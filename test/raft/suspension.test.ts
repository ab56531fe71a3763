import t from 'tap'
import { silentLogger } from '../../src/lib/log.ts'
import { Suspension } from '../../src/raft/suspension.ts'

/** Three clocks that the test moves, and a leader that counts how often its lease was void. */
function world() {
  const clocks = { monotonicMs: 5_000, wallMs: 1_000_000, bootMs: 90_000 }
  const leader = { role: 'leader' as const, voided: 0, suspended: () => void (leader.voided += 1) }
  const suspension = new Suspension({
    clock: {
      monotonicMs: () => clocks.monotonicMs,
      wallMs: () => clocks.wallMs,
      setTimer: () => ({ cancel: () => undefined }),
    },
    bootMs: () => clocks.bootMs,
    logger: silentLogger,
  })
  const pass = (
    ms: number,
    which = ['monotonicMs', 'wallMs', 'bootMs'] as (keyof typeof clocks)[],
  ) => {
    for (const name of which) clocks[name] += ms
  }
  return { clocks, leader, suspension, pass }
}

t.test('time that passes for all clocks voids no lease', async (t) => {
  const { leader, suspension, pass } = world()
  for (let at = 0; at < 100; at += 1) {
    pass(100)
    suspension.beforeRead(leader)
    suspension.onTimer(leader)
  }
  t.equal(leader.voided, 0)
})

t.test('the first read after a suspension finds no lease', async (t) => {
  const { leader, suspension, pass } = world()
  pass(2_000, ['wallMs', 'bootMs'])
  suspension.beforeRead(leader)
  t.equal(leader.voided, 1)
  suspension.beforeRead(leader)
  t.equal(leader.voided, 1, 'once')
})

t.test(
  'a suspension is noticed by the next heartbeat although the wall clock was set back',
  async (t) => {
    const { leader, suspension, pass } = world()
    pass(2_000, ['bootMs'])
    suspension.beforeRead(leader)
    t.equal(leader.voided, 0)
    suspension.onTimer(leader)
    t.equal(leader.voided, 1)
  },
)

t.test('a wall clock that is set back or runs slowly ahead voids nothing', async (t) => {
  const { leader, suspension, pass } = world()
  pass(-60_000, ['wallMs'])
  suspension.beforeRead(leader)
  for (let at = 0; at < 1_000; at += 1) {
    pass(100)
    pass(1, ['wallMs'])
    suspension.onTimer(leader)
    suspension.beforeRead(leader)
  }
  t.equal(leader.voided, 0)
})
