import t from 'tap'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

type Reply = {
  Results: { KV: Record<string, unknown> }[] | null
  Errors: { OpIndex: number; What: string }[] | null
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

async function txn(server: ServerOfOne, operations: readonly object[], query = '') {
  const body = operations.map((KV) => ({ KV }))
  const answer = await server.ask('PUT', `/v1/txn${query}`, body)
  return { answer, status: answer.status, reply: answer.json() as Reply }
}

void t.test('later operations see earlier ones, and all share one index', async (t) => {
  const server = await serverOfOne(t)
  const { status, reply } = await txn(server, [
    { Verb: 'set', Key: 'a', Value: base64('1'), Flags: 3 },
    { Verb: 'get', Key: 'a' },
    { Verb: 'set', Key: 'dir/x', Value: base64('x') },
    { Verb: 'set', Key: 'dir/y', Value: base64('y') },
    { Verb: 'delete', Key: 'dir/x' },
    { Verb: 'get-tree', Key: 'dir/' },
    { Verb: 'check-not-exists', Key: 'dir/x' },
    { Verb: 'cas', Key: 'new', Value: base64('n'), Index: 0 },
  ])
  t.equal(status, 200)
  t.equal(reply.Errors, null)
  const shown = (reply.Results ?? []).map(({ KV }) => [KV['Key'], KV['Value']])
  t.same(shown, [
    ['a', null],
    ['a', base64('1')],
    ['dir/x', null],
    ['dir/y', null],
    ['dir/y', base64('y')],
    ['new', null],
  ])
  const indexes = new Set((reply.Results ?? []).map(({ KV }) => KV['ModifyIndex']))
  t.equal(indexes.size, 1)
  t.equal((await server.ask('GET', '/v1/kv/dir/x')).status, 404)
})

void t.test('one failure undoes all, and every failure is told', async (t) => {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/kv/there', 'v')
  const { status, reply } = await txn(server, [
    { Verb: 'set', Key: 'a', Value: base64('1') },
    { Verb: 'get', Key: 'none' },
    { Verb: 'cas', Key: 'there', Index: 1, Value: base64('w') },
    { Verb: 'delete-cas', Key: 'there', Index: 0 },
    { Verb: 'check-index', Key: 'there', Index: 1 },
    { Verb: 'check-index', Key: 'none', Index: 1 },
    { Verb: 'check-session', Key: 'there', Session: 'x' },
    { Verb: 'check-not-exists', Key: 'there' },
    { Verb: 'lock', Key: 'there', Session: '6f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a' },
    { Verb: 'unlock', Key: 'there', Session: 'x' },
  ])
  t.equal(status, 409)
  t.equal(reply.Results, null)
  t.same(
    reply.Errors?.map(({ OpIndex }) => OpIndex),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  )
  const texts = reply.Errors?.map(({ What }) => What) ?? []
  t.match(texts[0], /does not exist/)
  t.match(texts[7], /lock.*session/)
  t.match(texts[8], /unlock/)
  t.equal((await server.ask('GET', '/v1/kv/a')).status, 404)
})

void t.test('what is no operation is 409, what is no list is 400', async (t) => {
  const server = await serverOfOne(t)
  const unusable = await txn(server, [
    { Verb: 'set', Key: 'a', Value: base64('1') },
    { Verb: 'frobnicate', Key: 'a' },
    { Verb: 'set', Key: '' },
    { Verb: 'lock', Key: 'a', Session: '' },
  ])
  t.equal(unusable.status, 409)
  t.same(
    unusable.reply.Errors?.map(({ OpIndex }) => OpIndex),
    [1, 2, 3],
  )
  t.equal((await server.ask('GET', '/v1/kv/a')).status, 404)

  const empty = await txn(server, [])
  t.equal(empty.status, 200)
  t.match(empty.reply, { Results: [], Errors: null })

  const rows: [body: unknown, status: number][] = [
    ['', 400],
    ['{', 400],
    [{}, 400],
    [['x'], 400],
    [[{}], 400],
    [[{ Node: {} }], 400],
    [[{ KV: { Verb: 'set', Key: 'a', Value: '***' } }], 400],
    [[{ KV: { Verb: 'set', Key: 'a', Colour: 'red' } }], 400],
    [[{ KV: { Verb: 'set', Key: 'a', Flags: -1 } }], 400],
    ['[{"KV":{"Verb":"set","Key":"a","Flags":18446744073709551616}}]', 400],
    [[{ KV: { Verb: 'set', Key: 7 } }], 400],
    [[{ KV: { Verb: 'set', Key: 'a\u0001' } }], 400],
    [Array.from({ length: 65 }, () => ({ KV: { Verb: 'get', Key: 'a' } })), 413],
    ['x'.repeat(524_289), 413],
  ]
  for (const [body, status] of rows) {
    const answer = await server.ask('PUT', '/v1/txn', body)
    t.equal(answer.status, status, JSON.stringify(body).slice(0, 80))
    t.notMatch(answer.body, /\n/)
  }
})

void t.test('names of fields in any letter case, and flags with all their digits', async (t) => {
  const server = await serverOfOne(t)
  const answer = await server.ask(
    'PUT',
    '/v1/txn',
    `[{"kv":{"verb":"set","KEY":"a","value":"${base64('1')}","flags":3304740253564472344}}]`,
  )
  t.equal(answer.status, 200)
  t.match((await server.ask('GET', '/v1/kv/a')).body, /"Flags":3304740253564472344,/)
})

void t.test('a transaction that only reads goes the way of reads', async (t) => {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/kv/big', 'x'.repeat(5_000))
  const before = server.machine.appliedIndex
  const { answer, reply } = await txn(
    server,
    [
      { Verb: 'get', Key: 'big' },
      { Verb: 'get-tree', Key: 'b' },
      { Verb: 'check-not-exists', Key: 'none' },
    ],
    '?stale',
  )
  t.equal(answer.status, 200)
  t.same(
    reply.Results?.map(({ KV }) => KV['Value']),
    [base64('x'.repeat(5_000)), base64('x'.repeat(5_000))],
  )
  t.match(reply, { KnownLeader: true, LastContact: 0 })
  t.ok((reply as { Index?: number }).Index)
  t.equal(server.machine.appliedIndex, before, 'nothing went through the log')
})

void t.test('trees go whole, in a transaction too', async (t) => {
  const server = await serverOfOne(t)
  for (const key of ['t/1', 't/2', 't', 'u']) await server.ask('PUT', `/v1/kv/${key}`, 'v')
  const { reply } = await txn(server, [
    { Verb: 'set', Key: 't/3', Value: base64('3') },
    { Verb: 'delete-tree', Key: 't/' },
    { Verb: 'set', Key: 't/4', Value: base64('4') },
  ])
  t.equal(reply.Errors, null)
  t.same((await server.ask('GET', '/v1/kv/?keys')).json(), ['t', 't/4', 'u'])

  const unheld = await txn(server, [{ Verb: 'check-session', Key: 'u' }])
  t.equal(unheld.reply.Errors, null, 'nobody holds it')
  const all = await txn(server, [
    { Verb: 'delete-tree', Key: '' },
    { Verb: 'set', Key: 'left', Value: base64('l') },
  ])
  t.equal(all.reply.Errors, null, 'the empty prefix is that of all keys')
  t.same((await server.ask('GET', '/v1/kv/?keys')).json(), ['left'])
})

void t.test('a lock that names no session is told beside the other errors', async (t) => {
  const server = await serverOfOne(t)
  for (const verb of ['lock', 'unlock']) {
    const { status, reply } = await txn(server, [
      { Verb: verb, Key: 'k', Value: base64('v') },
      { Verb: 'set', Key: 'other', Value: base64('v') },
      { Verb: 'get', Key: 'none' },
    ])
    t.equal(status, 409)
    t.match(reply.Errors, [
      { OpIndex: 0, What: new RegExp(`failed to ${verb} key "k": missing session`) },
      { OpIndex: 2, What: /does not exist/ },
    ])
    t.equal(reply.Errors?.length, 2)
  }
  t.equal((await server.ask('GET', '/v1/kv/other')).status, 404)
})
