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

t.test('the vote of the old leader comes behind the last entries, from its disk', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.settle()
  const { term } = cores.core('a')
  cores.seat('a').stalled = true
  const last = cores.propose('a', 'x')
  cores.core('a').transfer('c', cores.now)
  cores.turn('a')
  t.same(toTarget(cores), ['appendRequest'], 'the entry need not wait')
  t.match(cores.core('a'), { role: 'follower', term: term + 1, leaderId: null })
  cores.settle()
  t.same(cores.leaders(), [], 'the vote waits for the disk')
  cores.seat('a').stalled = false
  cores.turn('a')
  t.same(toTarget(cores), ['timeoutNow'])
  cores.settle()
  t.same(cores.leaders(), ['c'])
  t.ok(cores.core('c').log.commitIndex > last)
})

t.test('a target of three leads with both votes once its own is on its disk', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.settle()
  cores.seat('c').stalled = true
  cores.propose('a', 'x')
  cores.core('a').transfer('c', cores.now)
  cores.settle()
  t.equal(cores.core('c').role, 'candidate')
  cores.sync('c')
  cores.turn('c')
  t.same(cores.leaders(), ['c'])
  const types = new Set(cores.mail.filter(({ from }) => from === 'c').map(({ type }) => type))
  t.notOk(types.has('voteRequest'), 'it asks nobody')
})

t.test('a target of five asks the others, and not the old leader', async (t) => {
  const cores = handingOver(['a', 'b', 'c', 'd', 'e'])
  cores.deliverAll()
  cores.turn('c')
  const asked = cores.mail.filter(({ type }) => type === 'voteRequest').map(({ to }) => to)
  t.same(asked, ['b', 'd', 'e'])
  cores.settle()
  t.same(cores.leaders(), ['c'])
})

t.test('a target decides once it applied what was acknowledged before it led', async (t) => {
  for (const isBehind of [false, true]) {
    const cores = new Cores(three)
    cores.elect('a')
    cores.propose('a', 'x')
    cores.settle()
    const c = cores.core('c')
    const acknowledged = cores.core('a').log.commitIndex
    if (!isBehind) c.applied(c.log.slice(1, acknowledged, Infinity) ?? [], cores.now)
    for (const id of three) cores.cut.add(`${id}>a`)
    const underWay = cores.propose('a', 'under way')
    cores.core('a').transfer('c', cores.now)
    cores.turn('a')
    cores.deliverAll()
    cores.turn('c')
    t.same(cores.leaders(), ['c'])
    t.equal(c.completeAt, acknowledged)
    cores.settle()
    t.ok(c.log.commitIndex > underWay, 'the rest commits with the others')
    t.equal(c.completeAt, underWay + 1, 'and it waits for all that another may answer for')
  }
})

t.test('a leader that committed nothing yet does not know what was acknowledged', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.settle()
  const [a, c] = [cores.core('a'), cores.core('c')]
  for (const id of ['a', 'b']) cores.seat(id).stalled = true
  a.transfer('c', cores.now)
  cores.turn('a')
  cores.sync('a')
  cores.settle()
  t.same(cores.leaders(), ['c'])
  t.equal(c.log.commitIndex, c.log.lastIndex - 1, 'no other disk takes its first entry')
  c.transfer('a', cores.now)
  cores.settle()
  cores.sync('a')
  cores.turn('a')
  t.same(cores.leaders(), ['a'])
  t.equal(a.completeAt, a.log.lastIndex, 'its own first entry')
})

t.test(
  'a target that lacks the last entries does not campaign, and has no vote for it',
  async (t) => {
    const cores = new Cores(three)
    cores.elect('a')
    cores.settle()
    const last = cores.propose('a', 'x')
    cores.core('a').transfer('c', cores.now)
    cores.turn('a')
    cores.mail = cores.mail.filter(({ type, to }) => !(type === 'appendRequest' && to === 'c'))
    cores.settle()
    t.equal(cores.core('c').role, 'follower')
    t.same(cores.leaders(), [])
    cores.pass(3_000)
    const [leader = ''] = cores.leaders()
    t.ok(['a', 'b'].includes(leader), 'one that holds the entry')
    t.ok(cores.core('c').log.commitIndex >= last)
  },
)

t.test(
  'a target that was silent is waited for, and given up after an election timeout',
  async (t) => {
    const cores = new Cores(three)
    cores.elect('a')
    cores.settle()
    cores.isolate('c')
    cores.pass(300)
    cores.core('a').transfer('c', cores.now)
    cores.pass(300)
    t.same(cores.leaders(), ['a'])
    t.ok(cores.core('a').transferring)
    cores.pass(1_000)
    t.same(cores.leaders(), ['a'])
    t.notOk(cores.core('a').transferring)
    cores.core('a').transfer('c', cores.now)
    cores.pass(200)
    cores.heal()
    cores.pass(200)
    t.same(cores.leaders(), ['c'])
  },
)

t.test('a target of an earlier program asks for the vote, and has it', async (t) => {
  const cores = handingOver(three)
  const known = { voted: false, acknowledgedIndex: 0 }
  cores.mail = cores.mail.map((message) =>
    message.type === 'timeoutNow' ? { ...message, ...known } : message,
  )
  cores.deliverAll()
  cores.turn('c')
  const asked = cores.mail.filter(({ type }) => type === 'voteRequest').map(({ to }) => to)
  t.same(asked, ['a', 'b'])
  cores.cut.add('b>c')
  cores.settle()
  t.same(cores.leaders(), ['c'])
  t.equal(cores.core('c').completeAt, cores.core('c').log.lastIndex, 'which says nothing more')
})

t.test('the word counts once, and not for a target that was restarted', async (t) => {
  const cores = handingOver(three)
  const word = cores.mail.find(({ type }) => type === 'timeoutNow')
  if (word === undefined) throw new Error('nothing is handed over')
  cores.settle()
  t.same(cores.leaders(), ['c'])
  const { term } = cores.core('c')
  cores.deliver(word)
  cores.settle()
  t.match(cores.core('c'), { role: 'leader', term })
  const again = new Cores(three)
  again.deliver({ ...word, term: again.core('c').term })
  again.settle()
  t.same(again.leaders(), [], 'it follows nobody')
})

/** The leader a has said that c is to take over; that is in the mail. */
function handingOver(ids: readonly string[]): Cores {
  const cores = new Cores(ids)
  cores.elect('a')
  cores.settle()
  cores.core('a').transfer('c', cores.now)
  cores.turn('a')
  return cores
}

function toTarget({ mail }: Cores): readonly string[] {
  return mail.filter(({ to }) => to === 'c').map(({ type }) => type)
}
