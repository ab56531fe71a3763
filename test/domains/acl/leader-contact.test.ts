/** For how long a server trusts what it knows of tokens after it has asked the leader. */
import t from 'tap'
import { LeaderContact, trustedMs } from '../../../src/domains/acl/leader-contact.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { manualClock } from '../../support/manual-clock.ts'

function begun() {
  const clock = manualClock()
  const questions: PromiseWithResolvers<void>[] = []
  const freshen = () => {
    const question = Promise.withResolvers<void>()
    questions.push(question)
    return question.promise
  }
  const contact = new LeaderContact({ freshen, clock, log: silentLogger })
  const answer = async (at: number) => {
    questions[at]?.resolve()
    await new Promise(setImmediate)
  }
  const refuse = async (at: number) => {
    questions[at]?.reject(new Error('there is no leader'))
    await new Promise(setImmediate)
  }
  return { clock, questions, contact, answer, refuse }
}

t.test('the first request waits for the answer, later ones for none', async (t) => {
  const { clock, questions, contact, answer } = begun()
  const first = [contact.confirm(), contact.confirm()].map((confirming) =>
    Promise.resolve(confirming),
  )
  t.equal(questions.length, 1, 'one question for all that wait')
  await answer(0)
  await Promise.all(first)
  clock.advance(399)
  t.equal(contact.confirm(), null)
  t.equal(questions.length, 1)
  clock.advance(1)
  t.equal(contact.confirm(), null, 'asked again before the answer is too old')
  t.equal(questions.length, 2)
  clock.advance(trustedMs - 401)
  t.equal(contact.confirm(), null)
  t.equal(questions.length, 2, 'one question at a time')
  clock.advance(1)
  const late = contact.confirm()
  t.not(late, null, 'the answer does not come')
  await answer(1)
  await late
  t.equal(contact.confirm(), null)
})

t.test('without an answer no token is trusted', async (t) => {
  const { clock, contact, questions, answer, refuse } = begun()
  const refused = { code: 'no_leader', message: /acl\.down_policy/ }
  const early = t.rejects(Promise.resolve(contact.confirm()), refused)
  await refuse(0)
  await early
  const next = contact.confirm()
  t.equal(questions.length, 2, 'each later request asks again')
  await answer(1)
  await next
  clock.advance(trustedMs)
  const late = t.rejects(Promise.resolve(contact.confirm()), refused)
  await refuse(2)
  await late
})

t.test('an answer counts from its question, not from its arrival', async (t) => {
  const { clock, contact, questions, answer } = begun()
  const first = contact.confirm()
  clock.advance(trustedMs)
  let served = false
  const second = contact.confirm()?.then(() => {
    served = true
  })
  t.equal(questions.length, 1)
  await answer(0)
  await first
  t.notOk(served, 'the token may have been revoked after that question')
  t.equal(questions.length, 2)
  await answer(1)
  await second
  t.ok(served)
})
