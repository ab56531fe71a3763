/** How a leader hands over to a server that somebody chose (3.10). */
import t from 'tap'
import { Cores } from './bench-of-cores.ts'

const three = ['a', 'b', 'c']

t.test('leadership is handed over at once, to a server that has everything (3.10)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.propose('a', 'x')
  cores.settle()
  t.equal(cores.core('a').transfer('c', cores.now), null)
  t.match(cores.core('a').propose(new Uint8Array(), cores.now), {
    ok: false,
    refusal: { code: 'transferring' },
  })
  cores.settle()
  t.same(cores.leaders(), ['c'], 'no time has passed')
})

t.test(
  'a target is asked to campaign behind the last entries, before it acknowledged them (3.10)',
  async (t) => {
    const cores = new Cores(three)
    cores.elect('a')
    cores.settle()
    cores.seat('c').stalled = true
    const last = cores.propose('a', 'x')
    cores.core('a').transfer('c', cores.now)
    cores.turn('a')
    const toTarget = cores.mail.filter(({ to }) => to === 'c').map(({ type }) => type)
    t.same(toTarget, ['appendRequest', 'timeoutNow'])
    cores.settle()
    t.equal(cores.core('c').role, 'candidate')
    t.same(cores.leaders(), ['a'], 'its votes wait for its own disk')
    cores.seat('c').stalled = false
    cores.settle()
    t.same(cores.leaders(), ['c'])
    t.ok(cores.core('c').log.commitIndex > last)
  },
)

t.test('a target that lacks the last entries campaigns once it has them (3.10)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.settle()
  cores.propose('a', 'x')
  cores.core('a').transfer('c', cores.now)
  cores.turn('a')
  cores.mail = cores.mail.filter(({ type, to }) => !(type === 'appendRequest' && to === 'c'))
  cores.settle()
  t.equal(cores.core('c').role, 'follower')
  t.same(cores.leaders(), ['a'])
  cores.pass(200)
  t.same(cores.leaders(), ['c'])
})
