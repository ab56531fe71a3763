/** Access control as Consul's own command line and clients ask for it: ids, PUT to make, answers in its shapes. */
import t, { type Test } from 'tap'
import { serverOfOne } from '../server-of-one.ts'

type Json = Readonly<Record<string, unknown>>

async function started(t: Test) {
  const server = await serverOfOne(t, { acl: { enabled: true, defaultPolicy: 'deny' } })
  const asked = async (method: string, url: string, body?: unknown, token?: string) => {
    const headers = { 'x-service-dialect': 'consul' }
    const answer = await server.ask(method, url, body, token, headers)
    const isJson = /^[[{]|^true$/.test(answer.body)
    return { status: answer.status, body: answer.body, json: (isJson ? answer.json() : {}) as Json }
  }
  const first = await asked('PUT', '/v1/acl/bootstrap')
  t.equal(first.status, 200, first.body)
  const root = String(first.json['SecretID'])
  const ask = (method: string, url: string, body?: unknown, token = root) =>
    asked(method, url, body, token)
  return { server, ask, first: first.json, root }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const management = { ID: '00000000-0000-0000-0000-000000000001', Name: 'global-management' }

t.test('the first token is shown with its secret and its policy', async (t) => {
  const { first, root, ask } = await started(t)
  t.match(first, { ID: root, SecretID: root, Policies: [management], Local: false, Roles: [] })
  t.match((await ask('GET', '/v1/acl/token/self')).json, {
    AccessorID: first['AccessorID'],
    SecretID: root,
  })
  const again = await ask('PUT', '/v1/acl/bootstrap')
  t.match([again.status, again.body], [403, /ACL bootstrap no longer allowed \(reset index: \d+\)/])
})

t.test('a policy has an id that stays, and is found by it and by its name', async (t) => {
  const { ask, server, root } = await started(t)
  const body = {
    ID: '',
    Name: 'app',
    Description: 'd',
    Rules: 'key_prefix "app/" { policy = "write" }',
  }
  const made = await ask('PUT', '/v1/acl/policy', { ...body, Datacenters: null, Hash: null })
  t.equal(made.status, 200, made.body)
  const id = String(made.json['ID'])
  t.match(id, uuid)
  t.match(made.json, { Name: 'app', Description: 'd', Rules: body.Rules })
  t.match((await ask('GET', `/v1/acl/policy/${id}`)).json, { ID: id, Name: 'app' })
  t.match((await ask('GET', `/v1/acl/policy/${id.toUpperCase()}`)).json, { ID: id })
  t.match((await ask('GET', '/v1/acl/policy/name/app')).json, { ID: id, Name: 'app' })
  const listed = (await ask('GET', '/v1/acl/policies')).json as unknown as Json[]
  t.match(listed, [management, { ID: id, Name: 'app' }])
  t.notOk('Rules' in (listed[1] ?? {}), 'lists are without rules')
  t.match((await ask('GET', `/v1/acl/policy/${management.ID}`)).json, management)

  const again = await ask('PUT', '/v1/acl/policy', body)
  t.match([again.status, again.body], [400, /A Policy with Name "app" already exists/])
  const changed = { ...body, ID: id, Description: 'e' }
  t.match((await ask('PUT', `/v1/acl/policy/${id}`, changed)).json, { ID: id, Description: 'e' })
  const renamed = await ask('PUT', `/v1/acl/policy/${id}`, { ...changed, Name: 'b' })
  t.match([renamed.status, renamed.body], [400, /a policy keeps its name, "app"/])
  const common = await server.ask('GET', '/v1/acl/policy/app', undefined, root)
  t.notOk('ID' in (common.json() as object), 'the other dialect has its own shape')

  t.equal((await ask('DELETE', `/v1/acl/policy/${id}`)).body, 'true')
  t.equal((await ask('GET', `/v1/acl/policy/${id}`)).status, 404)
  t.equal((await ask('GET', '/v1/acl/policy/name/app')).status, 404)
  t.equal((await ask('PUT', `/v1/acl/policy/${id}`, changed)).status, 404)
})

t.test('rules in the language of Consul are in force, or refused with the place', async (t) => {
  const { ask } = await started(t)
  const rules = `key_prefix "app/" { policy = "write" }
key "app/secret" { policy = "deny" }
node_prefix "" { policy = "read" }
service_prefix "web" { policy = "write" }
session_prefix "" { policy = "write" }
agent_prefix "" { policy = "read" }
event_prefix "deploy" { policy = "write" }
operator = "read"
acl = "deny"
`
  const made = await ask('PUT', '/v1/acl/policy', { Name: 'app', Rules: rules })
  t.equal(made.status, 200, made.body)
  const token = await ask('PUT', '/v1/acl/token', { Policies: [{ Name: 'app' }] })
  const secret = String(token.json['SecretID'])
  const put = async (key: string) => (await ask('PUT', `/v1/kv/${key}`, 'v', secret)).status
  t.same([await put('app/a'), await put('app/secret'), await put('other')], [200, 403, 403])
  t.equal((await ask('GET', '/v1/acl/tokens', undefined, secret)).status, 403)
  for (const [text, why] of [
    ['query_prefix "" { policy = "some" }', /line 1: policy must be one of read, write, deny/],
    [
      'service "web" {\n policy = "read"\n intentions = "some"\n}',
      /line 3: intentions must be one of read, write, deny/,
    ],
    ['query { policy = "read" }', /line 1: query needs a name/],
    ['query "a" { intentions = "read" }', /line 1: query has no intentions/],
    ['mesh "a" { policy = "read" }', /line 1: mesh is not a block/],
    ['sentinel = "read"', /line 1: there are no rules for "sentinel"/],
    ['key "a" { policy = "some" }', /policy must be one of/],
  ] as const) {
    const refused = await ask('PUT', '/v1/acl/policy', { Name: 'bad', Rules: text })
    t.equal(refused.status, 400, text)
    t.match(refused.body, why)
  }
})

t.test('a token is made with its secret, read, changed, cloned, listed and removed', async (t) => {
  const { ask } = await started(t)
  const policy = await ask('PUT', '/v1/acl/policy', {
    Name: 'app',
    Rules: 'key "a" { policy = "read" }',
  })
  const link = { ID: policy.json['ID'], Name: 'app' }
  const role = await ask('PUT', '/v1/acl/role', {
    Name: 'dev',
    Description: '',
    Policies: [{ Name: 'app' }],
  })
  t.match(role.json, { Name: 'dev', Policies: [link] })
  const made = await ask('PUT', '/v1/acl/token', {
    CreateIndex: 0,
    ModifyIndex: 0,
    AccessorID: '',
    SecretID: '',
    Description: 'of the app',
    Policies: [{ ID: link.ID, Name: '' }],
    Local: false,
    CreateTime: '0001-01-01T00:00:00Z',
    ExpirationTTL: 3_600_000_000_000,
  })
  t.equal(made.status, 200, made.body)
  t.match(made.json, { Description: 'of the app', Policies: [link], ExpirationTime: /Z$/ })
  const accessor = String(made.json['AccessorID'])
  const secret = String(made.json['SecretID'])
  t.ok(secret.length > 20)
  t.match((await ask('GET', '/v1/acl/token/self', undefined, secret)).json, { SecretID: secret })
  const read = await ask('GET', `/v1/acl/token/${accessor}`)
  t.match(
    read.json,
    { AccessorID: accessor, SecretID: '', Policies: [link] },
    'the secret is not kept',
  )

  const changed = await ask('PUT', `/v1/acl/token/${accessor}`, {
    ...read.json,
    Policies: null,
    Roles: [{ ID: role.json['ID'] }],
  })
  t.match(changed.json, { Policies: [], Roles: [{ Name: 'dev' }] })
  const cloned = await ask('PUT', `/v1/acl/token/${accessor}/clone`, { Description: 'copy' })
  t.match(cloned.json, { Description: 'copy', Roles: [{ Name: 'dev' }] })
  t.not(cloned.json['SecretID'], secret)
  t.not(cloned.json['AccessorID'], accessor)

  const accessors = async (query: string) => {
    const { json } = await ask('GET', `/v1/acl/tokens${query}`)
    return (json as unknown as Json[]).length
  }
  t.equal(await accessors(''), 3)
  t.equal(await accessors(`?role=${String(role.json['ID'])}`), 2)
  t.equal(await accessors(`?policy=${management.ID}`), 1)
  t.equal(await accessors('?policy=6f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a'), 0)
  t.equal((await ask('DELETE', `/v1/acl/token/${accessor}`)).body, 'true')
  t.equal((await ask('GET', `/v1/acl/token/${accessor}`)).status, 404)
  const boss = await ask('PUT', '/v1/acl/token', { Policies: [{ Name: 'global-management' }] })
  t.match(boss.json, { Policies: [management] })
  t.equal(await accessors(`?policy=${management.ID}`), 2)
})

t.test('roles are found by id and by name, and go', async (t) => {
  const { ask } = await started(t)
  await ask('PUT', '/v1/acl/policy', { Name: 'app', Rules: 'key "a" { policy = "read" }' })
  const made = await ask('PUT', '/v1/acl/role', { Name: 'dev', Policies: [{ Name: 'app' }] })
  const id = String(made.json['ID'])
  t.match(id, uuid)
  t.match((await ask('GET', `/v1/acl/role/${id}`)).json, { Name: 'dev' })
  t.match((await ask('GET', '/v1/acl/role/name/dev')).json, { ID: id })
  t.match((await ask('GET', '/v1/acl/roles')).json, [{ ID: id, Name: 'dev' }])
  const changed = { Name: 'dev', Description: 'd', Policies: [{ Name: 'app' }] }
  t.match((await ask('PUT', `/v1/acl/role/${id}`, changed)).json, { Description: 'd' })
  t.equal((await ask('PUT', '/v1/acl/role', changed)).status, 400)
  t.equal((await ask('DELETE', `/v1/acl/role/${id}`)).body, 'true')
  t.equal((await ask('GET', `/v1/acl/role/${id}`)).status, 404)
})

t.test('what there is not is said in a sentence', async (t) => {
  const { ask } = await started(t)
  const anonymous = '00000000-0000-0000-0000-000000000002'
  const rows = [
    [
      'PUT',
      '/v1/acl/token',
      { ServiceIdentities: [{ ServiceName: 'web' }] },
      400,
      /ServiceIdentities are not served/,
    ],
    ['PUT', '/v1/acl/token', { SecretID: 'mine' }, 400, /SecretID is drawn by the cluster/],
    [
      'PUT',
      '/v1/acl/token',
      { Policies: [{ ID: anonymous }] },
      400,
      /there is no policy with the ID/,
    ],
    ['PUT', '/v1/acl/token', { Policies: ['app'] }, 400, /Policies must be an object/],
    [
      'PUT',
      '/v1/acl/policy',
      { Name: 'a', Rules: '', Datacenters: ['dc2'] },
      400,
      /leave Datacenters out/,
    ],
    ['PUT', '/v1/acl/policy', { Name: 'global-management', Rules: '' }, 400, /built in/],
    ['GET', `/v1/acl/token/${anonymous}`, undefined, 400, /the policy named anonymous/],
    ['GET', '/v1/acl/policy/no-uuid', undefined, 404, /ACL not found/],
    ['GET', '/v1/acl/auth-methods', undefined, 501, /auth methods are not served/],
    ['GET', '/v1/acl/binding-rules', undefined, 501, /not served/],
    ['PUT', '/v1/acl/login', {}, 501, /not served/],
    ['GET', '/v1/acl/templated-policies', undefined, 501, /not served/],
    ['GET', '/v1/acl/replication', undefined, 501, /not replicated/],
    ['PUT', '/v1/acl/create', {}, 501, /before its version 1.4/],
  ] as const
  for (const [method, url, body, status, text] of rows) {
    const answer = await ask(method, url, body)
    t.equal(answer.status, status, `${method} ${url} ${answer.body}`)
    t.match(answer.body, text)
  }
})

t.test('reading ids needs the right to read access control', async (t) => {
  const { ask } = await started(t)
  for (const url of [
    'policies',
    'roles',
    'tokens',
    'policy/name/a',
    `policy/6f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a`,
  ]) {
    t.equal((await ask('GET', `/v1/acl/${url}`, undefined, 'unknown')).status, 403, url)
  }
})

t.test('rules of Consul for what is not here are taken, and grant nothing', async (t) => {
  const { ask } = await started(t)
  const Rules = `
keyring = "read"
mesh = "write"
peering = "write"
query "q" { policy = "deny" }
query_prefix "" { policy = "write" }
identity_prefix "" {
  policy = "write"
  intentions = "write"
}
service "web" {
  policy = "read"
  intentions = "write"
}
`
  t.equal((await ask('PUT', '/v1/acl/policy', { Name: 'ported', Rules })).status, 200)
  const made = await ask('PUT', '/v1/acl/token', { Policies: [{ Name: 'ported' }] })
  const secret = String(made.json['SecretID'])
  const status = async (method: string, path: string, body?: unknown) =>
    (await ask(method, path, body, secret)).status
  t.equal(await status('PUT', '/v1/agent/service/register', { Name: 'web' }), 403)
  t.equal(await status('GET', '/v1/kv/a'), 403)
  t.equal(await status('GET', '/v1/agent/self'), 403)
  t.equal(await status('PUT', '/v1/operator/gossip/keyring/remove', { Key: 'x' }), 403)
})

t.test('rules that older servers cannot read wait until there are none', async (t) => {
  const acl = { enabled: true, defaultPolicy: 'deny' } as const
  const server = await serverOfOne(t, { acl, commandVersion: 2 })
  const first = await server.ask('POST', '/v1/acl/bootstrap')
  const root = String((first.json() as Json)['SecretID'])
  const put = (rules: string) =>
    server.ask('PUT', '/v1/acl/policy/app', { Name: 'app', Rules: rules }, root)
  const older = 'key_prefix "a/" { policy = "write" }\nservice "b" { policy = "read" }'
  const service = 'service "a" {\n policy = "read"\n intentions = "read"\n}'
  const later = [
    ['keyring', `keyring = "read"\n${older}`],
    ['mesh', 'mesh = "read"'],
    ['peering', '{ "peering": "read" }'],
    ['query_prefix', 'query_prefix "" { policy = "read" }'],
    ['identity', 'identity "a" { policy = "read" }'],
    ['intentions', service],
    ['intentions', `namespace "a" {\n${service}\n}`],
  ] as const
  for (const [name, rules] of later) {
    const { status, body } = await put(rules)
    t.equal(status, 501, rules)
    t.match(body, `rules about ${name} need every server at command version 3`)
  }
  t.equal((await put(older)).status, 200, 'what all servers know is taken')
  await server.propose({ type: 'state.raiseVersion', args: { version: 3 } })
  for (const [, rules] of later) t.equal((await put(rules)).status, 200, rules)
})
