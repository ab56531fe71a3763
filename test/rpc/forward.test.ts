import { proposable } from '../../src/fsm/domain.ts'
import t from 'tap'
import Type from 'typebox'
import { systemClock, type Clock } from '../../src/lib/clock.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { defineLeaderMethod, type Caller } from '../../src/rpc/method.ts'
import { manualClock } from '../support/manual-clock.ts'
import { fakeServer, type FakeServer } from '../support/rpc-fakes.ts'

const caller: Caller = { token: 'tok', remote: '10.0.0.1', requestId: 'r1' }

const put = defineLeaderMethod({
  kind: 'leader',
  name: 'rows.put',
  args: Type.Object({ key: Type.String() }),
  requires: () => ({ resource: 'none' }),
  async run(context, { key }) {
    const { index } = await context.propose(proposable('put'), { key, value: 1 })
    return { index, asked: context.caller }
  },
})

const a = { id: 'id-a', name: 'a', address: 'a:1', term: 1 }
const b = { id: 'id-b', name: 'b', address: 'b:1', term: 1 }

/** Server a follows server b. Both hang on the link of a. */
function pair(
  limits: { readonly noLeaderMs?: number; readonly callMs?: number } = {},
  clock: Clock = systemClock,
) {
  const follower = fakeServer({ methods: [put], limits, clock })
  const leader = fakeServer({ methods: [put] })
  leader.consensus.self = b
  leader.consensus.elect(b)
  follower.consensus.elect(b)
  follower.link.handlers.set('b:1', leader.dispatcher.handleForwarded)
  return { follower, leader }
}

const putA = (server: FakeServer, signal?: AbortSignal) =>
  server.dispatcher.call(put, { key: 'k' }, caller, signal === undefined ? {} : { signal })

t.test('a follower passes the request on with its caller and the time that is left', async (t) => {
  const { follower, leader } = pair({ callMs: 9_000 })
  t.same(await putA(follower), { index: 1, asked: caller })
  t.equal(leader.state.appliedIndex, 1)
  t.equal(follower.state.appliedIndex, 0)
  const [sent] = follower.link.calls
  t.match(sent, { method: 'rows.put', token: 'tok', remote: '10.0.0.1', requestId: 'r1' })
  t.ok((sent?.timeoutMs ?? 0) > 0)
  t.ok((sent?.timeoutMs ?? 0) <= 9_000)
})

t.test('arguments are checked once, by the server that runs the method', async (t) => {
  const checkedBy: string[] = []
  const counted = (name: string) => ({
    ...put,
    check: (args: unknown) => {
      checkedBy.push(name)
      put.check(args)
    },
  })
  const follower = fakeServer({ methods: [counted('follower')] })
  const leader = fakeServer({ methods: [counted('leader')] })
  leader.consensus.self = b
  leader.consensus.elect(b)
  follower.consensus.elect(b)
  follower.link.handlers.set('b:1', leader.dispatcher.handleForwarded)
  const ask = (server: FakeServer, name: string, args: unknown) =>
    server.dispatcher.call(counted(name), args, caller)
  await ask(follower, 'follower', { key: 'k' })
  t.same(checkedBy.splice(0), ['leader'], 'of a forwarded call')
  await ask(leader, 'leader', { key: 'k' })
  t.same(checkedBy.splice(0), ['leader'], 'of a call of its own')
  await t.rejects(ask(follower, 'follower', { key: 1 }), {
    code: 'invalid_argument',
    message: 'rows.put: key must be string',
  })
  t.same(checkedBy, ['leader'])
})

t.test('a server that forwards a method compiles its check soon after, once', async (t) => {
  let checked = 0
  const counted = { ...put, check: () => void (checked += 1) }
  const clock = manualClock()
  const { follower } = pair({}, clock)
  const ask = () => follower.dispatcher.call(counted, { key: 'k' }, caller)
  await Promise.all([ask(), ask()])
  t.equal(checked, 0, 'the answer does not wait for it')
  clock.advance(1_000)
  t.equal(checked, 1)
  await ask()
  clock.advance(1_000)
  t.equal(checked, 1)
})

t.test('refusals of the leader come back as they are', async (t) => {
  const { follower, leader } = pair()
  leader.consensus.onPropose = () => Promise.reject(new MusterError('overloaded', 'full'))
  await t.rejects(putA(follower), { code: 'overloaded' })
  t.equal(follower.link.calls.length, 1)
})

t.test('a write whose outcome is unknown is not sent again if it is not repeatable', async (t) => {
  const { follower } = pair()
  follower.link.handlers.set('b:1', () => {
    throw new MusterError('outcome_unknown', 'the connection broke')
  })
  await t.rejects(putA(follower), { code: 'outcome_unknown' })
  t.equal(follower.link.calls.length, 1)
})

t.test('a server that was asked as leader and is none refuses: one hop at most', async (t) => {
  const { follower, leader } = pair()
  const request = {
    method: 'rows.put',
    args: { key: 'k' },
    token: null,
    remote: '',
    requestId: 'r',
    timeoutMs: 1_000,
  }
  leader.consensus.elect(a)
  const { signal } = new AbortController()
  await t.rejects(leader.dispatcher.handleForwarded(request, signal), { code: 'not_leader' })
  t.equal(leader.link.calls.length, 0)
  t.ok(follower)
})

t.test('after `not_leader` the sender looks again and finds the new leader', async (t) => {
  const { follower, leader } = pair()
  leader.consensus.elect(a)
  let answers = 0
  follower.link.handlers.set('b:1', async (request, signal) => {
    answers += 1
    if (answers === 3) follower.consensus.elect(a)
    return leader.dispatcher.handleForwarded(request, signal)
  })
  t.match(await putA(follower), { index: 1 })
  t.equal(answers, 3)
  t.equal(follower.state.appliedIndex, 1, 'it became the leader itself')
})

t.test('after `not_leader` the next leader is asked as soon as it is known', async (t) => {
  // Time stands still: no pause ends by itself.
  const { follower, leader } = pair({}, manualClock())
  follower.consensus.elect({ id: 'id-c', name: 'c', address: 'c:1', term: 1 })
  let refusals = 0
  follower.link.handlers.set('c:1', () => {
    refusals += 1
    setImmediate(() => follower.consensus.elect(b))
    throw new MusterError('not_leader', 'it hands over')
  })
  t.match(await putA(follower), { index: 1 })
  t.equal(refusals, 1, 'the one before is not asked again')
  t.equal(leader.state.appliedIndex, 1)
})

t.test('a leader that hands over does not run its own requests in a circle', async (t) => {
  const { follower } = pair({}, manualClock())
  follower.consensus.elect(a)
  let refusals = 0
  follower.consensus.onPropose = () => {
    refusals += 1
    // Others learn of it in the next turn of the event loop.
    if (refusals === 1) setImmediate(() => follower.consensus.elect(b))
    return Promise.reject(new MusterError('not_leader', 'leadership is being handed over'))
  }
  t.match(await putA(follower), { index: 1 })
  t.equal(refusals, 1)
})

t.test('a call that reaches a new leader waits until that is settled', async (t) => {
  const { follower, leader } = pair()
  leader.consensus.elect(null)
  leader.consensus.settling = true
  const waiting = putA(follower)
  setImmediate(() => leader.consensus.elect(b))
  t.match(await waiting, { index: 1 })
  t.equal(follower.link.calls.length, 1)
})

t.test(
  'a call that reaches a leader which hands over waits there for the end of that',
  async (t) => {
    const { follower, leader } = pair()
    leader.consensus.elect(null)
    leader.consensus.settling = true
    const waiting = putA(follower)
    setImmediate(() => {
      leader.consensus.elect(a)
      follower.consensus.elect(a)
    })
    t.match(await waiting, { index: 1 })
    t.equal(follower.link.calls.length, 1, 'it was not asked again in between')
  },
)

t.test('a request that arrives during an election waits for the leader', async (t) => {
  const { follower, leader } = pair()
  follower.consensus.elect(null)
  const waiting = putA(follower)
  setImmediate(() => follower.consensus.elect(b))
  t.match(await waiting, { index: 1 })
  t.equal(leader.state.appliedIndex, 1)
})

t.test('without a leader the wait is bounded and the text says so', async (t) => {
  const { follower } = pair({ noLeaderMs: 30 })
  follower.consensus.elect(null)
  await t.rejects(putA(follower), { code: 'no_leader', message: /^no cluster leader after 30 ms/ })
})

t.test('a leader that cannot be reached is tried until the wait is over', async (t) => {
  const { follower } = pair({ noLeaderMs: 60 })
  follower.link.handlers.clear()
  await t.rejects(putA(follower), { code: 'unavailable' })
  t.ok(follower.link.calls.length > 1)
})

t.test('a caller who leaves ends the wait', async (t) => {
  const { follower } = pair()
  follower.consensus.elect(null)
  const abort = new AbortController()
  const waiting = putA(follower, abort.signal)
  abort.abort()
  await t.rejects(waiting, { code: 'cancelled' })
})
