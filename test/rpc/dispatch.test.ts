import { proposable } from '../../src/fsm/domain.ts'
import t from 'tap'
import Type from 'typebox'
import { MusterError } from '../../src/lib/errors.ts'
import type { AuditLine } from '../../src/rpc/calls.ts'
import type { Caller, Requirement } from '../../src/rpc/method.ts'
import { defineLeaderMethod, defineLocalMethod, defineQuery } from '../../src/rpc/method.ts'
import { buildRegistry } from '../../src/rpc/registry.ts'
import { fakeServer, fakeTable } from '../support/rpc-fakes.ts'

const caller: Caller = { token: 'secret-token', remote: '10.0.0.1', requestId: 'r1' }
const now = { consistency: 'default', minIndex: 0, waitMs: 0 } as const
const none = (): Requirement => ({ resource: 'none' })

const put = defineLeaderMethod({
  kind: 'leader',
  name: 'rows.put',
  args: Type.Object({
    key: Type.String({ minLength: 1 }),
    items: Type.Array(Type.Object({ size: Type.Number() })),
  }),
  requires: ({ key }) => ({
    resource: 'variables',
    namespace: 'default',
    path: key,
    access: 'write',
  }),
  async run(context, { key, items }) {
    return (await context.propose(proposable('put'), { key, value: items })).index
  },
})

const whoami = defineLocalMethod({
  kind: 'local',
  name: 'agent.self',
  args: Type.Object({}),
  requires: () => ({ resource: 'agent', access: 'read' }),
  run: async (context) => ({
    remote: context.caller.remote,
    rows: context.read().get(fakeTable, ['a'])?.value ?? null,
  }),
})

const get = defineQuery({
  kind: 'query',
  name: 'rows.get',
  args: Type.Object({ key: Type.String() }),
  requires: none,
  query: (reader, { key }) => ({
    value: reader.get(fakeTable, [key])?.value ?? null,
    index: reader.tableIndex(fakeTable as never),
  }),
})

const methods = [put, whoami, get]

t.test('a method has one owner', async (t) => {
  t.throws(() => buildRegistry([get, get]), /two methods are called rows.get/)
})

t.test('arguments of the wrong shape are refused by field, never by value', async (t) => {
  const { dispatcher } = fakeServer({ methods })
  const args = { key: 'a', items: [{ size: 1 }, { size: 'hunter2' }] }
  await t.rejects(dispatcher.call(put, args, caller), {
    code: 'invalid_argument',
    message: 'rows.put: items.1.size must be number',
  })
  await t.rejects(dispatcher.call(put, { key: 'a' }, caller), {
    code: 'invalid_argument',
    message: /items/,
  })
  await t.rejects(dispatcher.call(put, null, caller), { code: 'invalid_argument' })
})

t.test(
  'names that are no method, and methods of another kind, are refused to other servers',
  async (t) => {
    const { dispatcher } = fakeServer({ methods })
    const { signal } = new AbortController()
    const ask = (method: string, args: unknown) =>
      dispatcher.handleForwarded({ ...caller, use: false, method, args, timeoutMs: 1_000 }, signal)
    await t.rejects(ask('rows.steal', {}), { code: 'not_implemented' })
    await t.rejects(ask('__proto__', {}), { code: 'not_implemented' })
    await t.rejects(ask('rows.get', { key: 'a' }), { code: 'invalid_argument' })
  },
)

t.test('each kind runs with what it needs', async (t) => {
  const { dispatcher, state } = fakeServer({ methods })
  t.equal(await dispatcher.call(put, { key: 'a', items: [] }, caller), 1)
  t.same(await dispatcher.call(whoami, {}, caller), { remote: '10.0.0.1', rows: [] })
  const answer = await dispatcher.query(get, { key: 'a' }, caller, now)
  t.same([answer.value, answer.index], [[], 1])
  t.equal(state.openViews, 0, 'views are closed behind methods and plain answers')
})

t.test('what a caller may not do is refused before it is done', async (t) => {
  const asked: Requirement[] = []
  const { dispatcher, state } = fakeServer({
    methods,
    authorizer: {
      resolve: (who) => ({
        may(requirement) {
          asked.push(requirement)
          return who.token === 'root'
        },
      }),
    },
  })
  const args = { key: 'app/db', items: [] }
  await t.rejects(dispatcher.call(put, args, caller), { code: 'permission_denied' })
  await t.rejects(dispatcher.call(whoami, {}, caller), { code: 'permission_denied' })
  await t.rejects(dispatcher.query(get, { key: 'a' }, caller, now), {
    code: 'permission_denied',
  })
  t.equal(state.appliedIndex, 0)
  t.match(asked[0], { resource: 'variables', path: 'app/db', access: 'write' })
  t.equal(await dispatcher.call(put, args, { ...caller, token: 'root' }), 1)
})

t.test('every call leaves one audit line without the token', async (t) => {
  const lines: AuditLine[] = []
  const { dispatcher } = fakeServer({ methods, audit: (line) => lines.push(line) })
  await dispatcher.call(put, { key: 'a', items: [] }, caller)
  await dispatcher.call(put, {}, caller).catch(() => {})
  await dispatcher.query(get, { key: 'a' }, caller, now)
  t.same(
    lines.map((line) => `${line.method} ${line.outcome} ${line.requestId} ${line.remote}`),
    ['rows.put ok r1 10.0.0.1', 'rows.put invalid_argument r1 10.0.0.1', 'rows.get ok r1 10.0.0.1'],
  )
  t.notMatch(JSON.stringify(lines), /secret/)
})

t.test('a write that is not confirmed in time has an unknown outcome', async (t) => {
  const { dispatcher, consensus } = fakeServer({ methods, limits: { callMs: 20 } })
  consensus.onPropose = () => new Promise(() => {})
  await t.rejects(dispatcher.call(put, { key: 'a', items: [] }, caller), {
    code: 'outcome_unknown',
  })
})

t.test(
  'a method that did a part and then lost the lead does not claim to have done nothing',
  async (t) => {
    const twice = defineLeaderMethod({
      kind: 'leader',
      name: 'rows.twice',
      args: Type.Object({}),
      requires: none,
      async run(context) {
        await context.propose(proposable('put'), { key: 'a', value: 1 })
        await context.propose(proposable('put'), { key: 'b', value: 2 })
      },
    })
    const { dispatcher, consensus, state } = fakeServer({ methods: [twice] })
    const first = consensus.onPropose
    consensus.onPropose = (data) => {
      consensus.onPropose = () => Promise.reject(new MusterError('not_leader', 'deposed'))
      return first(data)
    }
    await t.rejects(dispatcher.call(twice, {}, caller), { code: 'outcome_unknown' })
    t.equal(state.appliedIndex, 1, 'and it was not tried again')
  },
)
