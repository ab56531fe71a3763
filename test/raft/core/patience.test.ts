import t from 'tap'
import { Patience } from '../../../src/raft/core/patience.ts'
import { Cores } from './bench-of-cores.ts'

const adaptive = { minMs: 250, maxMs: 2_000 }
const three = ['a', 'b', 'c']

/** As many silences of this length, one after the other. */
function bear(patience: Patience, silentMs: number, count: number, from: number): number {
  let now = from
  for (let at = 0; at < count; at += 1) {
    now += silentMs
    patience.observe(silentMs, now)
  }
  return now
}

t.test('a fixed timeout stays, whatever is observed', async (t) => {
  const patience = new Patience({ electionMs: 1_000, adaptive: null }, 0)
  bear(patience, 5_000, 100, 0)
  t.equal(patience.ms, 1_000)
  t.equal(patience.longestMs, 1_000)
})

t.test('the first timeout stands until enough was observed', async (t) => {
  const patience = new Patience({ electionMs: 1_000, adaptive }, 0)
  const now = bear(patience, 100, 29, 0)
  t.equal(patience.ms, 1_000)
  bear(patience, 100, 1, now)
  t.equal(patience.ms, 300)
})

t.test('the timeout is within its bounds', async (t) => {
  const patience = new Patience({ electionMs: 1_000, adaptive }, 0)
  const now = bear(patience, 10, 100, 0)
  t.equal(patience.ms, 250)
  bear(patience, 30_000, 1, now)
  t.equal(patience.ms, 2_000)
  t.equal(patience.longestMs, 2_000)
})

t.test('one long silence is remembered for most of a minute, then forgotten', async (t) => {
  const patience = new Patience({ electionMs: 1_000, adaptive }, 0)
  let now = bear(patience, 100, 100, 0)
  now = bear(patience, 500, 1, now)
  t.equal(patience.ms, 1_500)
  now = bear(patience, 100, 440, now)
  t.equal(patience.ms, 1_500, '44 s later')
  now = bear(patience, 100, 160, now)
  t.equal(patience.ms, 300, '60 s later')
})

t.test('what was observed before a long rest does not count after it', async (t) => {
  const patience = new Patience({ electionMs: 1_000, adaptive }, 0)
  const now = bear(patience, 600, 100, 0)
  t.equal(patience.ms, 1_800)
  bear(patience, 100, 1, now + 10 * 60_000)
  t.equal(patience.ms, 300)
})

t.test(
  'with regular heartbeats a silent leader is replaced in a third of a second or two',
  async (t) => {
    const cores = new Cores(three, { adaptive })
    cores.elect('a')
    cores.pass(10_000)
    t.same(cores.leaders(), ['a'])
    t.ok(cores.core('b').patienceMs <= 450, `${cores.core('b').patienceMs} ms`)
    cores.isolate('a')
    const tookMs = cores.replace('a')
    t.ok(tookMs <= 900, `${tookMs} ms`)
  },
)

t.test('after heartbeats that came late followers wait longer', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  cores.cut.add('a>b')
  cores.cut.add('a>c')
  cores.pass(250)
  cores.heal()
  cores.pass(200)
  t.same(cores.leaders(), ['a'])
  t.ok(cores.core('b').patienceMs >= 750, `${cores.core('b').patienceMs} ms`)
})

t.test('a leader that hears nobody asks the follower that is furthest to take over', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  cores.cut.add('b>a')
  cores.cut.add('c>a')
  const since = cores.now
  while (cores.core('a').role === 'leader' && cores.now - since < 2_000) cores.pass(50)
  cores.settle()
  t.not(
    cores.core('b').term,
    2,
    'an election has begun, and nobody waited for a timeout of its own',
  )
  t.ok(cores.now - since <= 600, `${cores.now - since} ms`)
  t.ok(['b', 'c'].includes(cores.leaders().join()), cores.leaders().join())
})

t.test('a promise carries its length, and the lease is as long as that', async (t) => {
  const cores = new Cores(three, { adaptive, leaseReads: true })
  cores.elect('a')
  cores.pass(10_000)
  const patienceMs = cores.core('b').patienceMs
  t.not(cores.core('a').readNow(true, cores.now), null)
  cores.isolate('a')
  t.equal(cores.core('a').readNow(true, cores.now + patienceMs), null, 'not after it')
})

t.test('a voter keeps its promise although its timeout fell, and to itself as well', async (t) => {
  const cores = new Cores(three, { adaptive, leaseReads: true })
  cores.elect('a')
  const before = cores.core('b').patienceMs
  t.equal(before, 1_000, 'nothing was observed yet')
  cores.isolate('a')
  for (let passed = 0; passed < 0.8 * before; passed += 50) {
    cores.now += 50
    for (const id of ['b', 'c']) cores.core(id).tick(cores.now, false)
    cores.settle()
    t.same(cores.leaders(), ['a'])
  }
})

t.test('the word of a voter that may break it is not enough for linearizable reads', async (t) => {
  const cores = new Cores(three, { leaseReads: true, softVoters: ['b', 'c'] })
  cores.elect('a')
  cores.pass(300)
  t.equal(cores.core('a').readNow(true, cores.now), null)
  t.equal(cores.core('a').readNow(false, cores.now), null)
})

t.test(
  'an answer that says nothing of a promise, as from an earlier version, extends no lease',
  async (t) => {
    const cores = new Cores(three)
    cores.elect('a')
    cores.forgetPromises = true
    cores.pass(3_000)
    t.same(cores.leaders(), ['a'])
    t.equal(cores.core('a').readNow(false, cores.now), null)
  },
)

t.test('a leader that does not ask for promises is given the configured timeout', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  t.ok(cores.core('b').patienceMs < 500)
  cores.forgetAsking = true
  cores.pass(200)
  cores.isolate('a')
  cores.forgetAsking = false
  const since = cores.now
  for (const id of ['b', 'c']) {
    while (cores.now - since < 900) {
      cores.now += 50
      for (const core of [cores.core('b'), cores.core('c')]) core.tick(cores.now, false)
      cores.settle()
      t.not(cores.core(id).role, 'leader')
    }
  }
  t.ok(cores.replace('a') <= 1_000, 'afterwards one is elected')
})

t.test('a leader that was suspended trusts no lease from before', async (t) => {
  const cores = new Cores(three, { leaseReads: true })
  cores.elect('a')
  cores.pass(300)
  const a = cores.core('a')
  t.not(a.readNow(true, cores.now), null)
  // On their way while the machine slept.
  cores.now += 100
  a.tick(cores.now, false)
  cores.turn('a')
  const questions = cores.mail.splice(0)
  a.suspended(cores.now)
  t.equal(a.readNow(true, cores.now), null)
  for (const question of questions) cores.deliver(question)
  cores.settle()
  t.equal(a.readNow(true, cores.now), null, 'nor answers to what was asked before')
  cores.pass(200)
  t.not(a.readNow(true, cores.now), null, 'and again once it asked anew')
})

t.test('a leader whose disk lags behind others steps aside within half a timeout', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  const { patienceMs } = cores.core('a')
  cores.seat('a').stalled = true
  cores.propose('a', 'x')
  const since = cores.now
  while (cores.core('a').role === 'leader' && cores.now - since < 2_000) cores.pass(50)
  cores.settle()
  t.ok(cores.now - since <= patienceMs / 2 + 150, `${cores.now - since} ms`)
  t.ok(['b', 'c'].includes(cores.leaders().join()), 'one of the others leads at once')
})

t.test('a leader stays where all disks take as long', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  for (const id of three) cores.seat(id).stalled = true
  cores.propose('a', 'x')
  cores.pass(600)
  t.same(cores.leaders(), ['a'], 'a handover would help nobody')
})

t.test('a disk that is always slow is borne with', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  cores.seat('a').stalled = true
  for (let n = 0; n < 40; n += 1) {
    cores.propose('a', `${n}`)
    // First shorter than half a timeout, then longer and longer.
    cores.pass(Math.min(100 + 50 * Math.floor(n / 10), 250))
    cores.sync('a')
    cores.settle()
  }
  t.same(cores.leaders(), ['a'])
})

t.test('one stall of a disk does not make the next one be borne with for longer', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  // All disks, so that nobody takes over: the longest write of the last minute takes 600 ms.
  for (const id of three) cores.seat(id).stalled = true
  cores.propose('a', 'x')
  cores.pass(600)
  for (const id of three) {
    cores.seat(id).stalled = false
    cores.sync(id)
  }
  cores.settle()
  t.same(cores.leaders(), ['a'])
  cores.seat('a').stalled = true
  cores.propose('a', 'y')
  cores.settle()
  const since = cores.now
  while (cores.core('a').role === 'leader' && cores.now - since < 2_000) cores.pass(50)
  t.ok(cores.now - since <= 600, `${cores.now - since} ms, half of the first timeout is 500`)
})

t.test('a leader looks again when its patience is over, not at its next heartbeat', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  const a = cores.core('a')
  cores.cut.add('b>a')
  cores.cut.add('c>a')
  const heardAt = cores.now
  while (a.role === 'leader' && cores.now - heardAt < 2_000) {
    cores.now = Math.max(cores.now, a.nextDeadline)
    a.tick(cores.now, false)
    cores.settle()
  }
  const tookMs = cores.now - heardAt
  t.ok(tookMs <= a.patienceMs + 2, `${tookMs} ms, its patience is ${a.patienceMs}`)
})

t.test('a pre-vote that comes too soon is granted when the own promise ends', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  cores.isolate('a')
  const [b, c] = [cores.core('b'), cores.core('c')]
  // Server b has heard nothing for long enough, server c heard the leader just now.
  cores.now += 200
  cores.heal()
  cores.cut.add('a>b')
  cores.core('a').tick(cores.now, false)
  cores.settle()
  cores.isolate('a')
  while (b.role === 'follower') {
    cores.now += 10
    b.tick(cores.now, false)
  }
  cores.settle()
  t.equal(b.role, 'preCandidate')
  const promisedMs = c.nextDeadline - cores.now
  t.ok(promisedMs > 0, 'c counts on the leader still')
  cores.now = c.nextDeadline
  c.tick(cores.now, false)
  cores.settle()
  t.equal(b.role, 'leader', 'it did not have to ask again')
})

t.test('a pre-vote that waits is forgotten when the leader is heard', async (t) => {
  const cores = new Cores(three, { adaptive })
  cores.elect('a')
  cores.pass(10_000)
  const { term } = cores.core('a')
  cores.cut.add('a>b')
  while (cores.core('b').role === 'follower') cores.pass(50)
  cores.pass(5_000)
  t.same(cores.leaders(), ['a'])
  t.equal(cores.core('c').term, term)
})
