/** Writes whose leader was lost before it answered: sent again where they did nothing, answered from here where they did. */
import { proposable } from '../../src/fsm/domain.ts'
import t, { type Test } from 'tap'
import Type from 'typebox'
import { MusterError } from '../../src/lib/errors.ts'
import type { NamedCommand } from '../../src/fsm/applied-commands.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { CallHandler } from '../../src/rpc/link.ts'
import { defineLeaderMethod, type Caller, type LeaderContext } from '../../src/rpc/method.ts'
import { SentWrites } from '../../src/rpc/sent-writes.ts'
import { ToldWrites } from '../support/named-writes.ts'
import { fakeServer } from '../support/rpc-fakes.ts'

const caller: Caller = { token: 'tok', remote: '10.0.0.1', requestId: 'r1' }
const b = { id: 'id-b', name: 'b', address: 'b:1', term: 3 }
const c = { id: 'id-c', name: 'c', address: 'c:1', term: 4 }

/** State of the follower, as the test says. */
class Applied extends ToldWrites {
  override appliedTerm = 3

  apply(...parts: readonly NamedCommand[]): void {
    for (const part of parts) this.tellNamed(part)
    this.tellApplied()
  }

  learn(term: number): void {
    this.appliedTerm = term
    this.tellApplied()
  }
}

/** Server a follows b. `run` is what the method does. */
function follower(
  t: Test,
  run: (context: LeaderContext) => Promise<unknown> = async (context) => {
    const { index, outcome } = await context.propose(proposable('put'), { key: 'k', value: 1 })
    return { index, outcome }
  },
) {
  const put = defineLeaderMethod({
    kind: 'leader',
    repeatable: true,
    name: 'rows.put',
    args: Type.Object({}),
    requires: () => ({ resource: 'none' }),
    run,
  })
  const applied = new Applied()
  const sent = new SentWrites({ applied, clock: systemClock, prefix: 'p' })
  t.teardown(() => sent.stop())
  const server = fakeServer({ methods: [put], sent, limits: { noLeaderMs: 300 } })
  server.consensus.elect(b)
  const answer = (server: 'b:1' | 'c:1', handler: CallHandler) =>
    server === 'b:1' ? link.handlers.set('b:1', handler) : link.handlers.set('c:1', handler)
  const { link, consensus } = server
  const ask = () => server.dispatcher.call(put, {}, caller)
  return { applied, sent, link, consensus, answer, ask }
}

const lost = () => Promise.reject(new MusterError('outcome_unknown', 'the connection broke'))
const partOf = (name: string | undefined, more: Partial<NamedCommand> = {}): NamedCommand => ({
  name: name ?? '',
  type: 'put',
  index: 9,
  outcome: 'first',
  ...more,
})

t.test('what did nothing at the old leader is sent to the new one', async (t) => {
  const { applied, sent, link, consensus, answer, ask } = follower(t)
  answer('b:1', async () => {
    setImmediate(() => {
      consensus.elect(c)
      applied.learn(4)
    })
    return lost()
  })
  answer('c:1', async ({ write }) => write)
  const second = (await ask()) as { readonly name: string }
  const [first] = link.calls
  t.match(first?.write, { name: /^p\.1$/, term: 3 }, 'it may be appended in the term of its leader')
  t.match(second, { name: /^p\.2$/, term: 4 })
  t.same(sent.fates, { applied: 0, void: 1, unknown: 0 })
  t.equal(sent.size, 0)
})

t.test('what took effect at the old leader is answered with its outcome', async (t) => {
  const { applied, sent, link, consensus, answer, ask } = follower(t)
  answer('b:1', async ({ write }) => {
    setImmediate(() => applied.apply(partOf(write?.name)))
    consensus.elect(null)
    return lost()
  })
  t.same(await ask(), { index: 9, outcome: 'first' })
  t.equal(link.calls.length, 1)
  t.same(sent.fates, { applied: 1, void: 0, unknown: 0 })
})

t.test('of what was applied before the leader was lost nothing is forgotten', async (t) => {
  const { applied, answer, ask } = follower(t)
  answer('b:1', async ({ write }) => {
    applied.apply(partOf(write?.name))
    applied.learn(4)
    return lost()
  })
  t.same(await ask(), { index: 9, outcome: 'first' })
})

t.test('a leader that goes on is waited for, for a while', async (t) => {
  const { link, answer, ask } = follower(t)
  answer('b:1', lost)
  await t.rejects(ask(), { code: 'outcome_unknown', message: 'the connection broke' })
  t.equal(link.calls.length, 1)
})

t.test('as long as a server may know no names, nothing is sent twice', async (t) => {
  const { applied, link, answer, ask } = follower(t)
  applied.commandVersion = 2
  answer('b:1', lost)
  await t.rejects(ask(), { code: 'outcome_unknown' })
  t.match(
    link.calls.map(({ write }) => write),
    [undefined],
  )
})

t.test('an answer that cannot be made from the outcomes is unknown', async (t) => {
  const cases: readonly [string, (context: LeaderContext) => Promise<unknown>, RegExp][] = [
    [
      'it goes on after the first command',
      async (context) => {
        await context.propose(proposable('put'), {})
        await context.propose(proposable('put'), {})
      },
      /index 9, but .*: it had to go on with put/,
    ],
    [
      'it would propose something else',
      (context) => context.propose(proposable('delete'), {}),
      /index 9, but .*: it had to go on with delete/,
    ],
    [
      'it refuses now',
      () => Promise.reject(new MusterError('not_leader', 'there is one already')),
      /index 9, but .*: there is one already/,
    ],
    ['it does nothing now', async () => 'nothing', /index 9, but .*: it has changed again since/],
    [
      'it fails after its command',
      async (context) => {
        await context.propose(proposable('put'), {})
        throw new MusterError('unavailable', 'no key')
      },
      /a part of the request took effect, then: no key/,
    ],
  ]
  for (const [what, run, message] of cases) {
    const { applied, link, answer, ask } = follower(t, run)
    answer('b:1', async ({ write }) => {
      applied.apply(partOf(write?.name))
      return lost()
    })
    await t.rejects(ask(), { code: 'outcome_unknown', message }, what)
    t.equal(link.calls.length, 1, 'and nothing is sent again')
  }
})

t.test('a refusal that the outcome says is the answer', async (t) => {
  const { applied, answer, ask } = follower(t, async (context) => {
    const { outcome } = await context.propose(proposable('put'), {})
    if (outcome === 'taken') throw new MusterError('conflict', 'it is taken')
  })
  answer('b:1', async ({ write }) => {
    applied.apply(partOf(write?.name, { outcome: 'taken' }))
    return lost()
  })
  await t.rejects(ask(), { code: 'conflict', message: 'it is taken' })
})
