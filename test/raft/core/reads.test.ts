import t from 'tap'
import { Cores, electionMs } from './bench-of-cores.ts'

const three = ['a', 'b', 'c'] as const

t.test('a linearizable read is answered after a majority confirmed the leader (6.4)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.isolate('a')
  cores.core('a').read(1, true, cores.now)
  cores.settle()
  t.same(cores.seat('a').reads, [], 'nobody confirmed it')
  cores.heal()
  cores.now += 100
  cores.core('a').tick(cores.now, false)
  cores.settle()
  t.same(cores.seat('a').reads, [{ id: 1, index: cores.core('a').log.commitIndex }])
})

t.test('a follower reads at an index that the leader confirmed (6.4)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  const index = cores.propose('a', 'x')
  cores.settle()
  for (const id of [1, 2, 3]) cores.core('b').read(id, true, cores.now)
  cores.turn('b')
  const asked = cores.mail.filter((message) => message.type === 'readIndexRequest')
  t.equal(asked.length, 1, 'reads of one turn share one question')
  cores.settle()
  t.same(
    cores.seat('b').reads,
    [1, 2, 3].map((id) => ({ id, index })),
  )
})

/** Whom the leader's next turn sends a heartbeat; it arrives later. */
function heartbeatsOf(cores: Cores, leader: string): string[] {
  cores.turn(leader)
  return cores.mail.flatMap(({ type, to }) => (type === 'heartbeat' ? [to] : []))
}

t.test(
  'a round of reads asks as many as prove it, and all when one of them is silent',
  async (t) => {
    const cores = new Cores(['a', 'b', 'c', 'd', 'e'])
    cores.elect('a')
    const read = (id: number): string[] => {
      cores.core('a').read(id, true, cores.now)
      return heartbeatsOf(cores, 'a')
    }
    const [silent, other] = read(1)
    t.ok(silent !== undefined && other !== undefined && silent !== other)
    t.equal(cores.mail.length, 2)
    cores.settle()
    t.same(read(2), [silent, other], 'the same, for they answered last')
    cores.settle()
    t.same(
      cores.seat('a').reads.map(({ id }) => id),
      [1, 2],
    )
    cores.isolate(silent ?? '')
    read(3)
    cores.settle()
    t.equal(cores.seat('a').reads.length, 2, 'two of five are no majority')
    cores.now = cores.core('a').nextDeadline
    cores.core('a').tick(cores.now, false)
    cores.settle()
    t.equal(cores.seat('a').reads.length, 3, 'well before the next heartbeat of all')
    const asked = read(4)
    t.equal(asked.length, 2)
    t.notOk(asked.includes(silent ?? ''), 'who is silent is not asked again')
    cores.settle()
    t.equal(cores.seat('a').reads.length, 4)
  },
)

t.test('of three, a follower that asks confirms the leader by asking', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.isolate('c')
  cores.core('b').read(1, true, cores.now)
  cores.turn('b')
  cores.deliverAll()
  t.same(heartbeatsOf(cores, 'a'), [], 'no round')
  cores.settle()
  t.same(cores.seat('b').reads, [{ id: 1, index: cores.core('a').log.commitIndex }])

  const five = new Cores(['a', 'b', 'c', 'd', 'e'])
  five.elect('a')
  five.core('b').read(1, true, five.now)
  five.turn('b')
  for (const message of five.mail.splice(0)) five.deliver(message)
  t.equal(heartbeatsOf(five, 'a').length, 2, 'two are no majority of five')
})

t.test('a question sent before the leader lost its office is not answered after', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.core('b').read(1, true, cores.now)
  cores.turn('b')
  const late = cores.mail.splice(0)
  cores.isolate('a')
  cores.replace('a')
  cores.heal()
  cores.pass(electionMs)
  for (const message of late) cores.deliver(message)
  cores.turn('a')
  t.same(
    cores.mail.filter(({ type }) => type === 'readIndexResponse'),
    [],
  )
})

t.test('reads of a leader that lost its office are refused, not answered', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.isolate('a')
  cores.core('a').read(7, true, cores.now)
  cores.pass(3 * electionMs)
  t.same(cores.seat('a').reads, [{ id: 7, index: null }])
})

t.test('a lease is judged by when the confirmed messages were sent (6.4.1)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.pass(300)
  t.not(cores.core('a').readNow(false, cores.now), null)
  t.equal(cores.core('a').readNow(true, cores.now), null, 'unless leases are trusted')
  t.equal(cores.core('a').readNow(false, cores.now + electionMs), null, 'a leader that slept')
})
