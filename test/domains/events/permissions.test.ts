/** Who may be told what: each event by the rules for reading the thing itself, for as long as they hold. */
import t, { type Test } from 'tap'
import { serverOfOne } from '../server-of-one.ts'
import { brief, FrameReader } from './frames-of.ts'

async function start(t: Test) {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  const { SecretID: root } = (await server.ask('PUT', '/v1/acl/bootstrap')).json() as {
    SecretID: string
  }
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await server.ask(method, path, body, root)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.body}`)
    return answer
  }
  let policies = 0
  const tokenWith = async (rules: string) => {
    const policy = `p${(policies += 1)}`
    await ask('PUT', `/v1/acl/policy/${policy}`, { Rules: rules })
    const made = (await ask('PUT', '/v1/acl/token', { Policies: [policy] })).json()
    const { SecretID: secret, AccessorID: accessor } = made as Record<string, string>
    if (secret === undefined || accessor === undefined) throw new Error('no token')
    return { secret, accessor, policy }
  }
  const open = async (query: string, token: string) => {
    const { status, body } = await server.open(`/v1/event/stream?${query}`, token)
    t.equal(status, 200, query)
    return new FrameReader(t, body)
  }
  return { server, root, ask, tokenWith, open }
}

const keyRules = 'key_prefix "app/" { policy = "read" }\nkey "app/hidden" { policy = "deny" }'

void t.test(
  'a reader is told what it may read, in snapshots too, and of nothing else',
  async (t) => {
    const { ask, open, tokenWith, root } = await start(t)
    await ask('PUT', '/v1/kv/app/before', '')
    await ask('PUT', '/v1/kv/app/hidden', '')
    await ask('PUT', '/v1/kv/other', '')
    const { secret } = await tokenWith(keyRules)
    const frames = await open('snapshot', secret)
    t.same((await frames.events()).map(brief), ['+KV app/before'])
    t.ok((await frames.next())?.EndOfSnapshot)
    const all = await open('index=now', root)
    await ask('PUT', '/v1/kv/other', 'x')
    await ask('PUT', '/v1/kv/app/hidden', 'x')
    await ask('PUT', '/v1/catalog/register', { Node: 'n', Address: '10.0.0.1' })
    await ask('PUT', '/v1/kv/app/after', '')
    t.same((await frames.events()).map(brief), ['+KV app/after'])
    for (const expected of ['+KV other', '+KV app/hidden', '+Node n', '+KV app/after']) {
      t.same((await all.events()).map(brief), [expected], 'management is told all')
    }
  },
)

void t.test(
  'checks of services need the service, sessions their node, variables to be listed',
  async (t) => {
    const { ask, open, tokenWith } = await start(t)
    const readers: [rules: string, told: string[]][] = [
      ['node "n" { policy = "read" }', ['+Check c', '+Node n']],
      [
        'node "n" { policy = "read" }\nservice "web" { policy = "read" }',
        ['+Check c', '+Check of-web', '+Node n', '+Service web'],
      ],
      ['session "n" { policy = "read" }', ['+Session']],
    ]
    const streams: [FrameReader, string[]][] = []
    for (const [rules, told] of readers) {
      const { secret } = await tokenWith(rules)
      streams.push([await open('index=now', secret), told])
    }
    await ask('PUT', '/v1/catalog/register', {
      Node: 'n',
      Address: '10.0.0.1',
      Service: { Service: 'web' },
      Checks: [
        { Name: 'c', Status: 'passing' },
        { Name: 'of-web', ServiceID: 'web', Status: 'passing' },
      ],
    })
    await ask('PUT', '/v1/session/create', { Node: 'n', NodeChecks: [] })
    for (const [frames, told] of streams) {
      const events = await frames.events()
      const seen = events.map((event) => brief(event).replace(/(?<=Session).*/, ''))
      t.same(seen.toSorted(), told)
    }
  },
)

void t.test('a token that is revoked ends its streams', async (t) => {
  const { ask, open, tokenWith, server } = await start(t)
  const { secret, accessor } = await tokenWith(keyRules)
  const [idle, busy] = [await open('index=now', secret), await open('index=now', secret)]
  await ask('PUT', '/v1/kv/app/a', '')
  const index = server.machine.appliedIndex
  for (const frames of [idle, busy]) t.match(await frames.next(), { Index: index })
  await ask('DELETE', `/v1/acl/token/${accessor}`)
  t.match(
    await idle.next(),
    { Error: /^ACL token not found/, Index: index },
    'without another event',
  )
  await ask('PUT', '/v1/kv/app/b', '')
  t.match(await busy.next(), { Error: /^ACL token not found/, Index: index })
  for (const frames of [idle, busy]) t.equal(await frames.next(), null)
})

void t.test('no event is judged by rights of before it', async (t) => {
  const { ask, open, tokenWith } = await start(t)
  const { secret, policy } = await tokenWith(keyRules)
  const frames = await open('index=now', secret)
  for (let at = 0; at < 20; at += 1) {
    const [open, closed] = at % 2 === 0 ? ['a', 'b'] : ['b', 'a']
    await ask('PUT', `/v1/acl/policy/${policy}`, {
      Rules: `key_prefix "${open}/" { policy = "read" }`,
    })
    await ask('PUT', `/v1/kv/${closed}/key`, `${at}`)
    await ask('PUT', `/v1/kv/${open}/key`, `${at}`)
    t.same((await frames.events()).map(brief), [`+KV ${open}/key`])
  }
})

void t.test('access control is for those who may read it, and has no secrets', async (t) => {
  const { open, tokenWith, server, root } = await start(t)
  const { secret } = await tokenWith(keyRules)
  for (const topic of ['ACLToken', 'aclpolicy:x', 'ACLRole']) {
    const refused = await server.open(`/v1/event/stream?topic=KV&topic=${topic}`, secret)
    t.equal(refused.status, 403)
    t.match(String(await refused.body.toArray()), /^Permission denied/)
  }
  const frames = await open('topic=ACLToken&topic=ACLPolicy&index=now', root)
  const made = await tokenWith(keyRules)
  const told = [...(await frames.events()), ...(await frames.events())]
  t.same(told.map(brief), [`+ACLPolicy ${made.policy}`, `+ACLToken ${made.accessor}`])
  t.notMatch(JSON.stringify(told), made.secret)
  t.notMatch(JSON.stringify(told), /hash/i)
})

void t.test('a wrong token opens nothing', async (t) => {
  const { server } = await start(t)
  const refused = await server.open('/v1/event/stream', 'wrong')
  t.equal(refused.status, 403)
  refused.body.destroy()
})

void t.test('a log that is followed ends with the right to it', async (t) => {
  const { ask, tokenWith, server } = await start(t)
  const { secret, accessor } = await tokenWith('agent { policy = "read" }')
  const { status, body } = await server.open('/v1/agent/monitor', secret)
  t.equal(status, 200)
  await ask('DELETE', `/v1/acl/token/${accessor}`)
  await body.toArray()
  t.pass('it ends')
})
