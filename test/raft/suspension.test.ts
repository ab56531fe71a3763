import t from 'tap'
import { silentLogger } from '../../src/lib/log.ts'
import { Suspension } from '../../src/raft/suspension.ts'

/** Three clocks that the test moves, and a leader whose lease holds until it is void; it counts how often that happens. */
function world() {
  const clocks = { monotonicMs: 5_000, wallMs: 1_000_000, bootMs: 90_000 }
  const leader = {
    role: 'leader' as const,
    voided: 0,
    suspended: () => void (leader.voided += 1),
    readNow: () => (leader.voided === 0 ? 7 : null),
  }
  let wallLooks = 0
  const suspension = new Suspension({
    clock: {
      monotonicMs: () => clocks.monotonicMs,
      wallMs: () => {
        wallLooks += 1
        return clocks.wallMs
      },
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
  const read = () => suspension.readNow(leader, true, clocks.monotonicMs)
  return { clocks, leader, suspension, pass, read, wallLooks: () => wallLooks }
}

t.test('time that passes for all clocks voids no lease', async (t) => {
  const { leader, suspension, pass, read } = world()
  for (let at = 0; at < 100; at += 1) {
    pass(100)
    read()
    suspension.onTimer(leader)
  }
  t.equal(leader.voided, 0)
})

t.test('the first read after a suspension finds no lease', async (t) => {
  const { leader, pass, read } = world()
  t.equal(read(), 7)
  pass(2_000, ['wallMs', 'bootMs'])
  t.equal(read(), null)
  t.equal(leader.voided, 1)
  read()
  t.equal(leader.voided, 1, 'once')
})

t.test("a follower's question after a suspension finds no lease", async (t) => {
  const { clocks, leader, suspension, pass } = world()
  pass(2_000, ['wallMs', 'bootMs'])
  suspension.beforeQuestion(leader, clocks.monotonicMs)
  t.equal(leader.voided, 1)
})

t.test('a read that no lease serves looks at no other clock', async (t) => {
  const { suspension, pass, wallLooks } = world()
  const before = wallLooks()
  pass(2_000, ['wallMs', 'bootMs'])
  const follower = { readNow: () => null, suspended: () => t.fail('it has no lease') }
  t.equal(suspension.readNow(follower, false, 5_000), null)
  t.equal(wallLooks(), before)
})

t.test(
  'a suspension is noticed by the next heartbeat although the wall clock was set back',
  async (t) => {
    const { leader, suspension, pass, read } = world()
    pass(2_000, ['bootMs'])
    read()
    t.equal(leader.voided, 0)
    suspension.onTimer(leader)
    t.equal(leader.voided, 1)
  },
)

t.test('a wall clock that is set back or runs slowly ahead voids nothing', async (t) => {
  const { leader, suspension, pass, read } = world()
  pass(-60_000, ['wallMs'])
  read()
  for (let at = 0; at < 1_000; at += 1) {
    pass(100)
    pass(1, ['wallMs'])
    suspension.onTimer(leader)
    read()
  }
  t.equal(leader.voided, 0)
})
