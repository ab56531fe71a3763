/** What tokens may do with sessions and keys, and what becomes of the sessions of tokens that are revoked. */
import t, { type Test } from 'tap'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne } from '../server-of-one.ts'

type Ask = (
  method: string,
  url: string,
  body?: unknown,
) => Promise<{ status: number; body: string; headers: Readonly<Record<string, unknown>> }>

const filteredHeader = 'x-service-results-filtered-by-acls'
const unknownId = '6f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a'

async function guarded(t: Test) {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  const root = ((await server.ask('PUT', '/v1/acl/bootstrap')).json() as { SecretID: string })
    .SecretID
  const as =
    (token: string): Ask =>
    (method, url, body) =>
      server.ask(method, url, body, token)
  const manage = as(root)
  let policies = 0
  const tokenWith = async (rules: string) => {
    const name = `p${(policies += 1)}`
    const written = await manage('PUT', `/v1/acl/policy/${name}`, { Rules: rules })
    if (written.status !== 200) throw new Error(written.body)
    const made = await manage('PUT', '/v1/acl/token', { Policies: [name] })
    const { AccessorID, SecretID } = JSON.parse(made.body) as Record<string, string>
    return { accessor: AccessorID ?? '', ask: as(SecretID ?? '') }
  }
  for (const Node of ['box', 'other']) {
    await manage('PUT', '/v1/catalog/register', { Node, Address: '10.0.0.1' })
  }
  return { server, manage, tokenWith, nobody: as('') }
}

const sessionOn = (Node: string) => ({ Node, NodeChecks: [], LockDelay: '1ms' })

async function create(ask: Ask, node: string): Promise<string> {
  const made = await ask('PUT', '/v1/session/create', sessionOn(node))
  if (made.status !== 200) throw new Error(made.body)
  return (JSON.parse(made.body) as { ID: string }).ID
}

void t.test('sessions are allowed by their node', async (t) => {
  const { server, manage, tokenWith, nobody } = await guarded(t)
  const box = await tokenWith('session "box" { policy = "write" }')
  const reader = await tokenWith('session_prefix "" { policy = "read" }')
  const [mine, theirs] = [await create(box.ask, 'box'), await create(manage, 'other')]

  const refused: [ask: Ask, method: string, url: string, body?: unknown][] = [
    [nobody, 'PUT', '/v1/session/create', sessionOn('box')],
    [nobody, 'PUT', `/v1/session/destroy/${mine}`],
    [nobody, 'PUT', `/v1/session/renew/${mine}`],
    [nobody, 'PUT', `/v1/session/renew/${unknownId}`],
    [nobody, 'PUT', `/v1/session/destroy/${unknownId}`],
    [reader.ask, 'PUT', '/v1/session/create', sessionOn('box')],
    [reader.ask, 'PUT', `/v1/session/destroy/${mine}`],
    [box.ask, 'PUT', '/v1/session/create', sessionOn('other')],
    [box.ask, 'PUT', `/v1/session/destroy/${theirs}`],
    [box.ask, 'PUT', `/v1/session/renew/${theirs}`],
  ]
  for (const [ask, method, url, body] of refused) {
    const answer = await ask(method, url, body)
    t.equal(answer.status, 403, `${method} ${url}`)
    t.match(
      answer.body,
      /lacks? permission 'session:write' on (the session's node|"\w+"), request/,
      'whether it exists or not',
    )
  }

  const duty = server.startDuty('sessions')
  t.teardown(() => duty.stop())
  const renewed = await box.ask('PUT', `/v1/session/renew/${unknownId}`)
  t.equal(renewed.status, 404, 'its holder may write no other node: so it learns that it is over')
  const destroyed = await box.ask('PUT', `/v1/session/destroy/${unknownId}`)
  t.strictSame([destroyed.status, destroyed.body], [200, 'true'])

  const rows: [ask: Ask, seen: number, filtered: boolean][] = [
    [manage, 2, false],
    [reader.ask, 2, false],
    [box.ask, 1, true],
    [nobody, 0, true],
  ]
  for (const [ask, seen, filtered] of rows) {
    const list = await ask('GET', '/v1/session/list')
    t.equal((JSON.parse(list.body) as unknown[]).length, seen)
    t.equal(list.headers[filteredHeader], filtered ? 'true' : undefined)
  }
  t.equal((await box.ask('GET', `/v1/session/info/${theirs}`)).body, '[]')
  t.equal((await box.ask('GET', '/v1/session/node/other')).headers[filteredHeader], 'true')
  for (const node of ['box', 'other', 'absent']) {
    const answer = await nobody('GET', `/v1/session/node/${node}`)
    t.equal(answer.headers[filteredHeader], 'true', 'of every node alike')
    t.equal(answer.headers['x-consul-results-filtered-by-acls'], undefined)
  }
  t.equal((await box.ask('PUT', `/v1/session/destroy/${mine}`)).status, 200)
})

void t.test('keys are allowed by their name', async (t) => {
  const { manage, tokenWith, nobody } = await guarded(t)
  const app = await tokenWith(`
    key_prefix "app/" { policy = "write" }
    key_prefix "app/secret/" { policy = "deny" }
    key "shared" { policy = "read" }
  `)
  for (const key of ['app/a', 'app/secret/s', 'shared', 'other']) {
    await manage('PUT', `/v1/kv/${key}`, 'v')
  }
  const set = (key: string) => [{ KV: { Verb: 'set', Key: key, Value: 'dg==' } }]
  const rows: [ask: Ask, method: string, url: string, status: number, body?: unknown][] = [
    [nobody, 'GET', '/v1/kv/app/a', 403],
    [nobody, 'GET', '/v1/kv/none', 403],
    [nobody, 'PUT', '/v1/kv/app/a', 403, 'v'],
    [nobody, 'DELETE', '/v1/kv/none', 403],
    [nobody, 'PUT', '/v1/txn', 403, [...set('app/a'), ...set('app/b')]],
    [nobody, 'PUT', '/v1/txn', 403, [{ KV: { Verb: 'get', Key: 'none' } }]],
    [app.ask, 'GET', '/v1/kv/app/a', 200],
    [app.ask, 'PUT', '/v1/kv/app/a', 200, 'v'],
    [app.ask, 'GET', '/v1/kv/shared', 200],
    [app.ask, 'PUT', '/v1/kv/shared', 403, 'v'],
    [app.ask, 'GET', '/v1/kv/other', 403],
    [app.ask, 'DELETE', '/v1/kv/app/secret/s', 403],
    [app.ask, 'DELETE', '/v1/kv/app/?recurse', 403],
    [app.ask, 'DELETE', '/v1/kv/app/b?recurse', 200],
    [app.ask, 'PUT', '/v1/txn', 403, [...set('app/a'), ...set('other')]],
    [app.ask, 'PUT', '/v1/txn', 200, [...set('app/a'), ...set('app/b')]],
    [app.ask, 'PUT', '/v1/kv/app/a?lock=other&lock_index=1', 403, 'v'],
    [app.ask, 'PUT', '/v1/kv/app/a?lock=shared&lock_index=1', 409, 'v'],
  ]
  for (const [ask, method, url, status, body] of rows) {
    const answer = await ask(method, url, body)
    t.equal(answer.status, status, `${method} ${url}: ${answer.body}`)
  }
  const keys = await app.ask('GET', '/v1/kv/?keys')
  t.same(JSON.parse(keys.body), ['app/a', 'app/b', 'shared'])
  t.equal(keys.headers[filteredHeader], 'true')
  const tree = await app.ask('GET', '/v1/kv/app/secret/?recurse')
  t.equal(tree.status, 404)
  t.equal((await manage('GET', '/v1/kv/?keys')).headers[filteredHeader], undefined)
})

void t.test('hidden keys below a prefix and none are answered alike', async (t) => {
  const { manage, tokenWith, nobody } = await guarded(t)
  const app = await tokenWith('key_prefix "app/" { policy = "read" }')
  for (const key of ['hidden/a', 'hidden/b', 'gone/a', 'app/a', 'app/b', 'last']) {
    await manage('PUT', `/v1/kv/${key}`, 'v')
  }
  await manage('DELETE', '/v1/kv/hidden/b')
  await manage('DELETE', '/v1/kv/gone/a')
  await manage('PUT', '/v1/kv/last', 'w')
  const indexOf = async (ask: Ask, url: string) =>
    (await ask('GET', url)).headers['x-service-index']
  const store = await indexOf(manage, '/v1/kv/last?recurse')
  for (const how of ['recurse', 'keys']) {
    for (const prefix of ['', 'h', 'hidden/', 'hidden/a', 'gone/', 'none']) {
      const answer = await nobody('GET', `/v1/kv/${prefix}?${how}`)
      // Of all names there is a list always.
      t.equal(answer.status, how === 'keys' && prefix === '' ? 200 : 404)
      t.equal(answer.headers['x-service-index'], store, `${prefix} ${how}`)
      for (const name of Object.keys(answer.headers)) t.notMatch(name, /filtered/)
      t.equal(await indexOf(app.ask, `/v1/kv/${prefix === '' ? 'h' : prefix}?${how}`), store)
    }
  }
  const before = await indexOf(app.ask, '/v1/kv/?recurse')
  await manage('PUT', '/v1/kv/hidden/a', 'w')
  t.equal(await indexOf(app.ask, '/v1/kv/?recurse'), before, 'a hidden key moves no index')
})

void t.test('a reader of a prefix waits for what it may see, and only for that', async (t) => {
  const { server, manage, tokenWith } = await guarded(t)
  const app = await tokenWith('key_prefix "app/" { policy = "read" }')
  await manage('PUT', '/v1/kv/other/a', 'v')
  const wait = async (index: unknown) => {
    const { parked } = server.machine.watchStats()
    const answer = app.ask('GET', `/v1/kv/?recurse&index=${String(index)}&wait=60s`)
    await eventuallyTrue('it waits', () => server.machine.watchStats().parked > parked)
    return answer
  }
  const first = await app.ask('GET', '/v1/kv/?recurse')
  t.equal(first.status, 404)
  const waits = wait(first.headers['x-service-index'])
  await eventuallyTrue('it waits', () => server.machine.watchStats().parked === 1)
  await manage('PUT', '/v1/kv/app/a', 'v')
  const made = await waits
  t.equal(made.status, 200)

  const again = wait(made.headers['x-service-index'])
  await eventuallyTrue('it waits', () => server.machine.watchStats().parked === 1)
  for (let count = 0; count < 3; count += 1) await manage('PUT', '/v1/kv/other/a', `${count}`)
  await eventuallyTrue('it waits again', () => server.machine.watchStats().parked === 1)
  await manage('DELETE', '/v1/kv/app/a')
  const gone = await again
  t.equal(gone.status, 404)
  const [before, after] = [made, gone].map(({ headers }) => Number(headers['x-service-index']))
  t.ok((after ?? 0) > (before ?? 0))
})

void t.test('what a revoked token made ends with it, in one entry', async (t) => {
  const { server, manage, tokenWith } = await guarded(t)
  const rules = 'session_prefix "" { policy = "write" }\nkey_prefix "" { policy = "write" }'
  const [gone, stays] = [await tokenWith(rules), await tokenWith(rules)]
  const sessions = {
    gone: await create(gone.ask, 'box'),
    stays: await create(stays.ask, 'box'),
    root: await create(manage, 'box'),
  }
  for (const [key, id] of Object.entries(sessions)) {
    t.equal((await manage('PUT', `/v1/kv/${key}?acquire=${id}`, 'v')).body, 'true')
  }
  const before = server.machine.appliedIndex
  t.equal((await manage('DELETE', `/v1/acl/token/${gone.accessor}`)).status, 200)
  const list = await manage('GET', '/v1/session/list')
  t.same(
    (JSON.parse(list.body) as { ID: string }[]).map(({ ID }) => ID).sort(),
    [sessions.stays, sessions.root].sort(),
  )
  const entries = JSON.parse((await manage('GET', '/v1/kv/?recurse')).body) as {
    Key: string
    Session?: string
    ModifyIndex: number
  }[]
  const freed = entries.filter(({ Session }) => Session === undefined)
  t.same(
    freed.map(({ Key, ModifyIndex }) => [Key, ModifyIndex]),
    [['gone', before + 1]],
  )
})
