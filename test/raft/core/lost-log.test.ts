/** Servers whose log lost what they had acknowledged: the rules do not allow for them, so they are noticed. */
import t from 'tap'
import type { Message } from '../../../src/raft/core/message.ts'
import { Cores, electionMs } from './bench-of-cores.ts'

const three = ['a', 'b', 'c'] as const

t.test(
  'a follower that was set back while its leader stays is told of, and fed again',
  async (t) => {
    const cores = new Cores(three)
    cores.elect('a')
    cores.propose('a', 'x')
    cores.settle()
    cores.pass(electionMs)
    const held = cores.core('a').log.lastIndex
    cores.setBack('c', held - 1)
    t.equal(cores.core('c').log.lastIndex, held - 1)
    cores.propose('a', 'y')
    cores.pass(electionMs)
    t.same(cores.forgetful, [{ peer: 'c', acknowledged: held, left: held - 1 }])
    t.equal(cores.core('c').log.lastIndex, held + 1)
    t.equal(cores.core('a').followers.get('c')?.match, held + 1)
  },
)

t.test('an answer that comes late sets no follower back', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.propose('a', 'x')
  cores.settle()
  const a = cores.core('a')
  const late: Message = {
    type: 'appendResponse',
    from: 'c',
    to: 'a',
    term: a.term,
    round: 0,
    ok: false,
    rejectedIndex: a.log.lastIndex,
    hintIndex: 1,
    hintTerm: 1,
  }
  a.message(late, cores.now)
  cores.settle()
  t.same(cores.forgetful, [])
  t.equal(a.followers.get('c')?.match, a.log.lastIndex)
})

t.test('a server confirms no history that is not its own', async (t) => {
  const cores = new Cores(three)
  cores.elect('a')
  cores.propose('a', 'x')
  cores.settle()
  cores.pass(electionMs)
  const c = cores.core('c')
  const { commitIndex } = c.log
  const request: Message = {
    type: 'appendRequest',
    from: 'b',
    to: 'c',
    term: c.term + 1,
    prevIndex: commitIndex - 1,
    prevTerm: c.log.termAt(commitIndex - 1) ?? 0,
    entries: [{ index: commitIndex, term: c.term + 1, kind: 'noop', data: new Uint8Array() }],
    commitIndex: 0,
    round: 1,
  }
  t.throws(() => c.message(request, cores.now), /a server lost its log and kept its id/)
})
