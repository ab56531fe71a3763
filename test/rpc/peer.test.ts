/** Methods that servers ask one another. */
import t from 'tap'
import Type from 'typebox'
import { proposable } from '../../src/fsm/domain.ts'
import type { AuditLine } from '../../src/rpc/calls.ts'
import { definePeerMethod } from '../../src/rpc/method.ts'
import { callPeer } from '../../src/rpc/peer-call.ts'
import { fakeServer } from '../support/rpc-fakes.ts'

const put = definePeerMethod({
  kind: 'peer',
  at: 'leader',
  name: 'rows.note',
  args: Type.Object({ key: Type.String({ minLength: 1 }) }),
  reply: Type.Object({ index: Type.Integer() }),
  run: async (context, { key }) => {
    const { index } = await context.propose(proposable('put'), { key, value: 1 })
    return { index }
  },
})
const greet = definePeerMethod({
  kind: 'peer',
  name: 'server.greet',
  args: Type.Object({}),
  reply: Type.String({ maxLength: 5 }),
  run: () => 'hello',
})
const methods = [put, greet]
const to = { address: 'b:1', id: 'id-b' }

/** Server a asks server b. */
function pair(audit: (line: AuditLine) => void = () => {}) {
  const a = fakeServer()
  const b = fakeServer({ methods, audit })
  a.link.handlers.set('b:1', b.dispatcher.handleForwarded)
  return { link: a.link, b }
}

t.test('a server answers another, checks what it is sent, and counts the call', async (t) => {
  const lines: AuditLine[] = []
  const { link, b } = pair((line) => lines.push(line))
  t.equal(await callPeer(link, to, greet, {}, 1_000), 'hello')
  t.same(await callPeer(link, to, put, { key: 'a' }, 1_000), { index: 1 })
  t.equal(b.state.appliedIndex, 1)
  await t.rejects(callPeer(link, to, put, { key: '' }, 1_000), {
    code: 'invalid_argument',
    message: /^rows.note: key must not have fewer than 1/,
  })
  t.same(
    lines.map(({ method, outcome, forwarded }) => `${method} ${outcome} ${forwarded}`),
    ['server.greet ok true', 'rows.note ok true', 'rows.note invalid_argument true'],
  )
})

t.test('what the leader answers alone is refused elsewhere', async (t) => {
  const { link, b } = pair()
  b.consensus.elect({ id: 'id-c', name: 'c', address: 'c:1', term: 2 })
  t.equal(await callPeer(link, to, greet, {}, 1_000), 'hello')
  await t.rejects(callPeer(link, to, put, { key: 'a' }, 1_000), { code: 'not_leader' })
  t.equal(b.state.appliedIndex, 0)
})

t.test('an answer of another shape is an error', async (t) => {
  const { link } = pair()
  for (const answer of [null, 'much too long', { hello: true }]) {
    link.handlers.set('b:1', () => Promise.resolve(answer))
    await t.rejects(callPeer(link, to, greet, {}, 1_000), {
      code: 'internal',
      message: /^the answer to server.greet: it must /,
    })
  }
})
