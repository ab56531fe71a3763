import t from 'tap'
import type { Message } from '../../../src/raft/core/message.ts'
import { Cores, electionMs } from './bench-of-cores.ts'

const three = ['a', 'b', 'c'] as const

t.test(
  'a cluster elects one leader, which commits an entry of its own term (3.4, 3.6.2)',
  async (t) => {
    const cores = new Cores(three)
    cores.pass(3 * electionMs)
    t.equal(cores.leaders().length, 1)
    for (const id of three) t.equal(cores.core(id).log.commitIndex, 2, `${id} knows it committed`)
  },
)

t.test('a write is committed when a majority has it on disk, and not before (3.5)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  for (const id of three) cores.seat(id).stalled = true
  const index = cores.propose('a', 'x')
  cores.settle()
  t.equal(cores.core('a').log.commitIndex, index - 1, 'on no disk')
  cores.sync('a')
  cores.settle()
  t.equal(cores.core('a').log.commitIndex, index - 1, 'on the disk of the leader alone')
  cores.sync('b')
  cores.settle()
  t.equal(cores.core('a').log.commitIndex, index, 'on two disks')
})

t.test('a write for one term is appended in no other', (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  const core = cores.core('a')
  const { lastIndex } = core.log
  const data = new TextEncoder().encode('x')
  for (const term of [core.term - 1, core.term + 1]) {
    const refused = core.propose(data, cores.now, term)
    t.match(refused, { ok: false, refusal: { code: 'notLeader' } }, `term ${term}`)
  }
  t.equal(core.log.lastIndex, lastIndex, 'it did nothing')
  t.match(core.propose(data, cores.now, core.term), { ok: true, index: lastIndex + 1 })
  t.end()
})

t.test('the leader sends while its own write is under way', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.seat('a').stalled = true
  const index = cores.propose('a', 'x')
  cores.settle()
  t.equal(cores.core('a').log.commitIndex, index, 'two followers commit it without the leader')
  t.equal(cores.core('a').applicableIndex, index - 1, 'which applies it once it holds it itself')
})

t.test('a vote leaves only when term and vote are on disk (3.8)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.isolate('a')
  cores.seat('c').stalled = true
  cores.now += 2 * electionMs
  for (let i = 0; i < 100 && cores.core('b').role !== 'candidate'; i += 1) {
    cores.now += 50
    cores.core('b').tick(cores.now, false)
    cores.settle()
  }
  t.equal(cores.core('b').role, 'candidate', 'c agreed in the pre-vote')
  t.equal(cores.seat('c').disk.at(-1)?.write.hardState?.votedFor, 'b', 'c is writing its vote')
  cores.sync('c')
  cores.settle()
  t.equal(cores.core('b').role, 'leader')
})

t.test('an older log wins no votes (3.6.1)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.isolate('c')
  cores.propose('a', 'x')
  cores.settle()
  cores.heal()
  cores.isolate('a')
  cores.now += 2 * electionMs
  cores.core('c').tick(cores.now, false)
  cores.settle()
  t.equal(cores.core('c').role, 'preCandidate', 'b has more')
  t.equal(cores.core('c').term, cores.core('b').term, 'and the question raised no term')
})

t.test('entries of an older term are not committed by counting (3.6.2, figure 3.7)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.isolate('a')
  const index = cores.propose('a', 'old')
  cores.settle()
  const { log } = cores.core('a')
  t.equal(log.lastIndex, index)
  // A new leader of a later term must not take the old entry for committed although a majority holds it.
  const message: Message = {
    type: 'appendResponse',
    from: 'b',
    to: 'a',
    term: cores.core('a').term - 1,
    round: 0,
    ok: true,
    matchIndex: index,
  }
  cores.core('a').message(message, cores.now)
  t.equal(log.commitIndex, index - 1, 'an answer of an older term says nothing')
})

t.test('a server that was cut off deposes nobody when it returns (9.6)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  const { term } = cores.core('a')
  cores.isolate('c')
  cores.pass(10 * electionMs)
  cores.heal()
  cores.pass(2 * electionMs)
  t.same(cores.leaders(), ['a'])
  t.equal(cores.core('c').term, term)
})

t.test('a leader that hears no majority steps down (6.2)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.cut.add('b>a').add('c>a')
  cores.pass(3 * electionMs)
  t.not(cores.leaders()[0], 'a', 'it could still send, and yet it made way')
  t.equal(cores.leaders().length, 1)
})

t.test('a leader that is not heard steps down', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.cut.add('a>b').add('a>c')
  cores.pass(4 * electionMs)
  t.equal(cores.leaders().length, 1)
  t.not(cores.leaders()[0], 'a')
})

t.test('a leader whose disk stalls hands over', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.seat('a').stalled = true
  cores.propose('a', 'x')
  cores.pass(2 * electionMs)
  t.equal(cores.leaders().length, 1)
  t.not(cores.leaders()[0], 'a')
})

t.test('a leader whose disk refuses hands over at once, and leads again later', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.seat('a').stalled = true
  cores.core('a').diskRefuses(true, cores.now)
  cores.settle()
  t.equal(cores.core('a').role, 'follower')
  t.equal(cores.leaders().length, 1)
  t.not(cores.leaders()[0], 'a')
  const disk = cores.seat('a').disk.length
  for (let i = 0; i < 5; i += 1) cores.propose(cores.leaders()[0] ?? 'b', `x${i}`)
  cores.settle()
  cores.pass(3 * electionMs)
  t.ok(cores.seat('a').disk.length <= disk + 1, 'what waits for its disk does not grow')
  cores.core('a').diskRefuses(false, cores.now)
  cores.seat('a').stalled = false
  cores.sync('a')
  cores.pass(electionMs)
  const [leader = 'b'] = cores.leaders()
  t.equal(cores.core('a').log.commitIndex, cores.core(leader).log.commitIndex, 'it catches up')
})

t.test('a server whose disk refuses helps nobody to lead', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.isolate('a')
  cores.core('c').diskRefuses(true, cores.now)
  cores.pass(4 * electionMs)
  t.notMatch(cores.leaders(), ['b'])
  t.equal(cores.core('b').term, cores.core('c').term, 'terms do not rise for nothing')
  cores.core('c').diskRefuses(false, cores.now)
  cores.pass(4 * electionMs)
  t.ok(cores.leaders().some((id) => id !== 'a'))
})

t.test('an old append whose entries are there cuts nothing (3.5)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.propose('a', 'x')
  cores.turn('a')
  const old = cores.mail.find((message) => message.type === 'appendRequest' && message.to === 'b')
  cores.settle()
  cores.isolate('c')
  cores.propose('a', 'y')
  cores.settle()
  const { lastIndex } = cores.core('b').log
  if (old !== undefined) cores.core('b').message(old, cores.now)
  t.equal(cores.core('b').log.lastIndex, lastIndex)
})

t.test(
  'a follower with a conflicting tail gets the leader’s, and keeps what matches',
  async (t) => {
    const cores = new Cores(three)
    cores.elect('a')
    cores.isolate('a')
    for (const text of ['1', '2', '3', '4']) cores.propose('a', text)
    cores.settle()
    cores.pass(4 * electionMs)
    const [leader] = cores.leaders()
    t.not(leader, 'a')
    const index = cores.propose(leader ?? '', 'kept')
    cores.settle()
    cores.heal()
    cores.pass(electionMs)
    const terms = (id: string) =>
      Array.from({ length: index }, (_, i) => cores.core(id).log.termAt(i + 1))
    t.same(terms('a'), terms(leader ?? ''))
    t.equal(cores.core('a').log.lastIndex, cores.core(leader ?? '').log.lastIndex)
  },
)

t.test('entries that are cut off before they were written are not acknowledged (3.8)', (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  const { core } = cores.seat('c')
  const { lastIndex: prevIndex, lastTerm: prevTerm } = core.log
  const append = (from: string, term: number, count: number): Message => ({
    type: 'appendRequest',
    from,
    to: 'c',
    term,
    round: 0,
    prevIndex,
    prevTerm,
    commitIndex: 0,
    entries: Array.from({ length: count }, (_, i) => ({
      index: prevIndex + 1 + i,
      term,
      kind: 'command',
      data: new Uint8Array(1),
    })),
  })
  // Both arrive before the disk is handed anything.
  core.message(append('a', prevTerm, 3), cores.now)
  core.message(append('b', prevTerm + 1, 1), cores.now)
  cores.turn('c')
  const acknowledged = cores.mail.filter(({ type }) => type === 'appendResponse')
  t.match(acknowledged, [{ to: 'b', term: prevTerm + 1, ok: true, matchIndex: prevIndex + 1 }])
  t.equal(acknowledged.length, 1, 'the entries of the older term were never on the disk')
  t.end()
})

t.test(
  'one membership change at a time, and only after an entry of the own term (4.1)',
  async (t) => {
    const cores = new Cores(three)
    cores.elect('a')
    const member = { id: 'd', name: 'd', address: 'd:1' }
    cores.isolate('a')
    t.match(cores.core('a').changeMembership({ type: 'addLearner', member }, cores.now), {
      ok: true,
    })
    t.match(cores.core('a').changeMembership({ type: 'remove', id: 'b' }, cores.now), {
      ok: false,
      refusal: { code: 'notNow' },
    })
  },
)

t.test('a configuration that was cut off is no longer in force (4.1)', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.isolate('a')
  const member = { id: 'd', name: 'd', address: 'd:1' }
  cores.core('a').changeMembership({ type: 'addLearner', member }, cores.now)
  cores.settle()
  t.ok(cores.core('a').membership.isMember('d'))
  cores.pass(4 * electionMs)
  cores.heal()
  cores.pass(electionMs)
  t.notOk(cores.core('a').membership.isMember('d'))
})

t.test(
  'a removed leader serves until its removal is committed, then makes way (4.2.2)',
  async (t) => {
    const cores = new Cores(three)
    cores.elect('a')
    t.match(cores.core('a').changeMembership({ type: 'remove', id: 'a' }, cores.now), { ok: true })
    cores.settle()
    t.equal(cores.leaders().length, 1, 'it asked another to take over')
    t.not(cores.leaders()[0], 'a')
    cores.pass(3 * electionMs)
    t.not(cores.leaders()[0], 'a', 'and disturbs nobody afterwards')
  },
)

t.test('who may not vote and hears no leader knows of none', async (t) => {
  const cores = new Cores(['a', 'b', 'l'], { learners: ['l'] })
  cores.elect('a')
  cores.pass(electionMs)
  t.equal(cores.core('l').leaderId, 'a')
  const { term } = cores.core('l')
  cores.isolate('l')
  cores.pass(3 * electionMs)
  t.equal(cores.core('l').leaderId, null, 'a server that was removed has to notice it')
  t.equal(cores.core('l').role, 'follower')
  t.equal(cores.core('l').term, term)
})

t.test('learners get entries and count for nothing (4.2.1)', async (t) => {
  const cores = new Cores(['a', 'b', 'l'], { learners: ['l'] })
  cores.elect('a')
  cores.isolate('b')
  const index = cores.propose('a', 'x')
  cores.settle()
  t.equal(cores.core('l').log.lastIndex, index)
  t.equal(cores.core('a').log.commitIndex, index - 1)
})

t.test('a leader refuses what would fill its memory, and takes it again later', async (t) => {
  const cores = new Cores(three, { uncommittedBytesMax: 500 })
  cores.elect('a')
  cores.core('a').applied(cores.core('a').log.slice(1, 2, 1e6) ?? [], cores.now)
  cores.isolate('a')
  for (let i = 0; i < 5; i += 1) cores.core('a').propose(new Uint8Array(50), cores.now)
  const refused = cores.core('a').propose(new Uint8Array(50), cores.now)
  t.match(refused, { ok: false, refusal: { code: 'overloaded' } })
})

t.test('a dead leader is replaced without waiting for the timeout', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.pass(200)
  cores.isolate('a')
  for (const id of ['b', 'c']) cores.core(id).peerGone('a', cores.now)
  t.ok(cores.replace('a') < electionMs / 2)
})

t.test('what a dead leader sent last is no sign of life', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.pass(200)
  const { term } = cores.core('a')
  cores.isolate('a')
  for (const id of ['b', 'c']) {
    cores.core(id).peerGone('a', cores.now)
    const lastWord: Message = {
      type: 'heartbeat',
      from: 'a',
      to: id,
      term,
      commitIndex: 1,
      round: 0,
    }
    cores.core(id).message(lastWord, cores.now)
  }
  t.ok(cores.replace('a') < electionMs / 2)
})

t.test('a leader that was wrongly taken for gone is followed again', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.pass(200)
  cores.core('b').peerGone('a', cores.now)
  cores.pass(2 * electionMs)
  t.same(cores.leaders(), ['a'], 'c heard it all the time and helps nobody else')
  t.equal(cores.core('b').leaderId, 'a')
})

t.test('with lease reads a voter keeps its promise even when the leader seems gone', async (t) => {
  const cores = new Cores(three, { leaseReads: true })
  cores.elect('a')
  cores.pass(200)
  for (const id of ['b', 'c']) cores.core(id).peerGone('a', cores.now)
  cores.now += 200
  for (const id of ['b', 'c']) cores.core(id).tick(cores.now, false)
  cores.settle()
  t.same(cores.leaders(), ['a'])
  t.not(cores.core('a').readNow(true, cores.now), null)
})

t.test('a leader keeps in memory what a follower that answers still lacks', async (t) => {
  const cores = new Cores(three, { cacheBytesMax: 1 << 30 })
  cores.elect('a')
  cores.isolate('c')
  const before = cores.core('a').log.lastIndex
  for (let n = 0; n < 600; n += 1) cores.propose('a', 'x')
  cores.settle()
  const { log } = cores.core('a')
  t.equal(log.commitIndex, before + 600)
  const apply = (): void => {
    const entries = log.slice(log.commitIndex, log.commitIndex, 1e9) ?? []
    cores.core('a').applied(entries, cores.now)
  }
  apply()
  t.ok(log.slice(before + 1, before + 1, 1e9), 'c was heard of a moment ago')
  cores.pass(2 * electionMs)
  apply()
  t.equal(log.slice(before + 1, before + 1, 1e9), undefined, 'it is away, and will be read for')
  t.ok(log.slice(log.lastIndex - 100, log.lastIndex, 1e9), 'the last few are there')
})

t.test('servers that were all down elect a leader as soon as they reach one another', async (t) => {
  const cores = new Cores(three)
  for (const id of ['a', 'b']) {
    for (const other of three) if (other !== id) cores.core(id).peerConnected(other, cores.now)
  }
  while (cores.leaders().length === 0 && cores.now < electionMs) cores.pass(50)
  t.ok(cores.now <= electionMs / 2, 'no election timeout is waited out')
})

t.test('a server that was down alone reaches the others and deposes nobody', async (t) => {
  const cores = new Cores(three)
  cores.isolate('c')
  cores.elect('a')
  const { term } = cores.core('a')
  cores.heal()
  cores.cut.add('a>c')
  for (const other of ['a', 'b']) cores.core('c').peerConnected(other, cores.now)
  cores.pass(electionMs)
  t.same(cores.leaders(), ['a'])
  t.equal(cores.core('a').term, term, 'they hear a leader, and refuse the pre-vote')
})

t.test('with lease reads a promise from before the start is kept', async (t) => {
  const cores = new Cores(three, { leaseReads: true })
  for (const id of three) {
    for (const other of three) if (other !== id) cores.core(id).peerConnected(other, cores.now)
  }
  cores.pass(electionMs - 50)
  t.same(cores.leaders(), [])
})

t.test('a server that is the only voter leads at once', async (t) => {
  const cores = new Cores(['a'])
  cores.core('a').tick(cores.now, false)
  cores.settle()
  t.same(cores.leaders(), ['a'])
})
