/** Tokens, policies and roles over HTTP: the first token, what each may do, and what becomes of those that go. */
import t from 'tap'
import { aclTokens } from '../../../src/domains/acl/table.ts'
import { hashOf } from '../../../src/domains/acl/authorizer.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

type Shown = Readonly<Record<string, unknown>> & {
  readonly AccessorID: string
  readonly SecretID: string
}

async function begun(
  t: Parameters<typeof serverOfOne>[0],
  options: Parameters<typeof serverOfOne>[1] = {},
) {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false, ...options })
  const answer = await server.ask('PUT', '/v1/acl/bootstrap')
  t.equal(answer.status, 200, answer.body)
  const root = (answer.json() as Shown).SecretID
  const as = (token: string | undefined) => (method: string, url: string, body?: unknown) =>
    server.ask(method, url, body, token)
  return { server, root, as, manage: as(root) }
}

async function tokenWith(
  server: ServerOfOne,
  root: string,
  rules: string,
  body: Readonly<Record<string, unknown>> = {},
): Promise<Shown> {
  const written = await server.ask('PUT', '/v1/acl/policy/p', { Rules: rules }, root)
  if (written.status !== 200) throw new Error(written.body)
  const made = await server.ask('PUT', '/v1/acl/token', { Policies: ['p'], ...body }, root)
  if (made.status !== 200) throw new Error(made.body)
  return made.json() as Shown
}

void t.test('the first token is made once, and again when an operator says so', async (t) => {
  let resetIndex: number | null = null
  const server = await serverOfOne(t, {
    begin: false,
    acl: {
      enabled: true,
      resetFile: {
        path: 'reset',
        read: async () => resetIndex,
        remove: async () => void (resetIndex = null),
      },
    },
  })
  const first = await server.ask('PUT', '/v1/acl/bootstrap')
  t.equal(first.status, 200)
  const token = first.json() as Shown
  t.match(token, { Type: 'management', AccessorID: /^[0-9a-f-]{36}$/, SecretID: /^[\w-]{43}$/ })
  t.equal((await server.ask('GET', '/v1/acl/tokens', undefined, token.SecretID)).status, 200)

  const again = await server.ask('PUT', '/v1/acl/bootstrap')
  t.equal(again.status, 400)
  t.match(again.body, /^ACL bootstrap already done \(reset index: \d+\)$/)
  resetIndex = Number(/index: (\d+)/.exec(again.body)?.[1])
  const secret = 'c'.repeat(40)
  t.equal((await server.ask('PUT', '/v1/acl/bootstrap', { BootstrapSecret: 'short' })).status, 400)
  const reset = await server.ask('PUT', '/v1/acl/bootstrap', { BootstrapSecret: secret })
  t.match(reset.json(), { SecretID: secret })
  t.equal((await server.ask('PUT', '/v1/acl/bootstrap')).status, 400, 'the index is used up')
  t.equal((await server.ask('GET', '/v1/acl/tokens', undefined, secret)).status, 200)
})

void t.test('while access control is off there are no tokens', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  for (const [method, path, body] of [
    ['PUT', '/v1/acl/bootstrap'],
    ['GET', '/v1/acl/tokens'],
    ['PUT', '/v1/acl/token', { Type: 'management' }],
    ['PUT', '/v1/acl/policy/p', { Rules: '' }],
  ] as const) {
    const answer = await server.ask(method, path, body)
    t.equal(answer.status, 400, `${method} ${path}`)
    t.match(answer.body, /^ACL support disabled/)
  }
  t.equal((await server.ask('GET', '/v1/agent/self', undefined, 'whatever')).status, 200)
})

void t.test('a token may do what its policies and roles say', async (t) => {
  const { server, root, as, manage } = await begun(t, { begin: true })
  const token = await tokenWith(server, root, 'agent { policy = "read" }')
  const mine = as(token.SecretID)
  t.equal((await mine('GET', '/v1/agent/self')).status, 200)
  const denied = await mine('GET', '/v1/operator/raft/configuration')
  t.equal(denied.status, 403)
  t.match(
    denied.body,
    /^Permission denied: token with AccessorID '[-\w]{36}' lacks permission '[\w:]+'.*, request [-\w]+$/,
  )
  const none = await as(undefined)('GET', '/v1/agent/self')
  t.equal(none.status, 403)
  t.match(
    none.body,
    /^Permission denied: the request has no token, and anonymous requests lack permission/,
  )
  const wrong = await as('wrong')('GET', '/v1/agent/self')
  t.equal(wrong.status, 403)
  t.match(wrong.body, /^ACL token not found: .*\(ACL not found\), request [-\w]+$/)

  t.equal((await manage('PUT', '/v1/acl/policy/ops', { Rules: 'operator = "read"' })).status, 200)
  const role = await manage('PUT', '/v1/acl/role/r', { Policies: [{ Name: 'ops' }] })
  t.match(role.json(), { Name: 'r', Policies: [{ Name: 'ops' }] })
  t.match((await manage('GET', '/v1/acl/role/name/r')).json(), { ID: 'r', Name: 'r' })
  const again = await manage('PUT', '/v1/acl/role', { Name: 'r', Policies: ['ops'] })
  t.match([again.status, again.body], [400, /A Role with Name "r" already exists/])
  const other = await manage('PUT', '/v1/acl/role', { Name: 'q', Policies: [{ Name: 'ops' }] })
  t.match(other.json(), { ID: 'q', Name: 'q', Policies: [{ Name: 'ops' }] })
  const path = `/v1/acl/token/${token.AccessorID}`
  const changed = await manage('PUT', path, { Roles: [{ Name: 'r' }] })
  t.match(changed.json(), { Policies: ['p'], Roles: [{ ID: 'r', Name: 'r' }] })
  t.equal((await mine('GET', '/v1/operator/raft/configuration')).status, 200, 'at once')

  const own = await mine('GET', '/v1/acl/policy/self')
  t.match(
    [own.status, own.json()],
    [200, [{ Name: 'ops' }, { Name: 'p' }]],
    'those of its role too',
  )
  t.notMatch(own.body, /Rules/)
  t.same((await manage('GET', '/v1/acl/policy/self')).json(), [], 'management needs none')
  t.equal((await as(undefined)('GET', '/v1/acl/policy/self')).status, 403)
  t.match((await mine('GET', '/v1/acl/policies')).json(), [{ Name: 'ops' }, { Name: 'p' }])
  t.match((await mine('GET', '/v1/acl/policies?prefix=o')).json(), { length: 1 })
  const indexOf = async (url: string) => (await mine('GET', url)).headers['x-nomad-index']
  t.equal(await indexOf('/v1/acl/policies'), await indexOf('/v1/acl/policy/self'))
  t.match((await mine('GET', '/v1/acl/policy/ops')).json(), { Rules: 'operator = "read"' })
  await manage('PUT', '/v1/acl/policy/of-others', { Rules: 'operator = "read"' })
  for (const name of ['of-others', 'none']) {
    t.equal((await mine('GET', `/v1/acl/policy/${name}`)).status, 403, name)
  }
  t.equal((await as(undefined)('GET', '/v1/acl/policies')).status, 403)
  t.match((await manage('GET', '/v1/acl/policies?prefix=o')).json(), { length: 2 })
  await manage('DELETE', '/v1/acl/policy/of-others')

  await manage('PUT', '/v1/acl/policy/ops', { Rules: 'operator = "deny"' })
  t.equal((await mine('GET', '/v1/operator/raft/configuration')).status, 403, 'a changed policy')
  await manage('DELETE', '/v1/acl/policy/p')
  t.equal((await mine('GET', '/v1/agent/self')).status, 403, 'a policy that is gone')
  t.equal((await mine('GET', '/v1/acl/token/self')).status, 200)
  t.match(
    (await mine('GET', '/v1/acl/token/self?expanded=true')).json(),
    {
      AccessorID: token.AccessorID,
      ExpandedPolicies: [{ Name: 'ops', Rules: 'operator = "deny"' }],
      ExpandedRoles: [{ Name: 'r' }],
      AgentACLDefaultPolicy: 'deny',
      AuditHash: /^hmac-sha256:[0-9a-f]{8}:[0-9a-f]{64}$/,
    },
    'what it is good for',
  )
  t.equal((await manage('DELETE', path)).status, 200)
  t.match(await mine('GET', '/v1/agent/self'), { status: 403, body: /^ACL token not found/ })
  t.equal((await manage('DELETE', path)).status, 404)
})

void t.test('callers without a token have the anonymous policy', async (t) => {
  const { as, manage } = await begun(t)
  const nobody = as(undefined)
  t.equal((await nobody('GET', '/v1/agent/self')).status, 403)
  await manage('PUT', '/v1/acl/policy/anonymous', { Rules: 'agent { policy = "read" }' })
  t.equal((await nobody('GET', '/v1/agent/self')).status, 200)
  t.equal((await nobody('GET', '/v1/acl/token/self')).status, 403)
  t.match((await nobody('GET', '/v1/acl/token/self?expanded=true')).json(), {
    AccessorID: '',
    ExpandedPolicies: [{ Name: 'anonymous', Rules: 'agent { policy = "read" }' }],
    AuditHash: null,
  })
  const wrong = await as('wrong')('GET', '/v1/acl/token/self?expanded=true')
  t.match(wrong, { status: 403, body: /^ACL token not found/ })
  await manage('DELETE', '/v1/acl/policy/anonymous')
  t.equal((await nobody('GET', '/v1/agent/self')).status, 403)
})

void t.test('a default of allow leaves tokens to those who may have them', async (t) => {
  const { as, manage } = await begun(t, { acl: { enabled: true, defaultPolicy: 'allow' } })
  const nobody = as(undefined)
  t.equal((await nobody('GET', '/v1/agent/self')).status, 200)
  t.equal((await nobody('GET', '/v1/acl/tokens')).status, 403)
  t.equal((await nobody('PUT', '/v1/acl/token', { Type: 'management' })).status, 403)
  const directory = { url: 'ldap://127.0.0.1:9', token_policies: ['x'] }
  t.equal((await nobody('POST', '/v1/auth/ldap/config', directory)).status, 403)
  t.equal((await nobody('POST', '/v1/sys/auth/mine', { type: 'ldap' })).status, 403)
  t.equal((await nobody('LIST', '/v1/auth/token/accessors')).status, 403)
  t.equal((await nobody('POST', '/v1/auth/token/roles/x', {})).status, 403)
  await manage('PUT', '/v1/acl/policy/nothing', { Rules: '' })
  const own = await manage('PUT', '/v1/acl/token', { Policies: ['nothing'] })
  const mine = as((own.json() as { SecretID: string }).SecretID)
  t.equal((await mine('GET', '/v1/auth/token/lookup-self')).status, 200)
  t.equal((await mine('POST', '/v1/auth/token/create', {})).status, 403)
  t.equal((await mine('POST', '/v1/auth/token/revoke-self')).status, 204)
  await manage('PUT', '/v1/acl/policy/anonymous', { Rules: 'agent { policy = "deny" }' })
  t.equal((await nobody('GET', '/v1/agent/self')).status, 403)
})

void t.test('a token ends at its time to the millisecond, and its row soon after', async (t) => {
  let offsetMs = 0
  const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + offsetMs }
  const { server, root, as } = await begun(t, { clock })
  const token = await tokenWith(server, root, 'agent { policy = "read" }', { ExpirationTTL: '1h' })
  t.ok(token['ExpirationTime'])
  const mine = as(token.SecretID)
  t.equal((await mine('GET', '/v1/agent/self')).status, 200)
  offsetMs = 59 * 60_000
  t.equal((await mine('GET', '/v1/agent/self')).status, 200)
  offsetMs = 61 * 60_000
  t.equal((await mine('GET', '/v1/agent/self')).status, 403)
  const row = () => server.machine.reader().get(aclTokens, [hashOf(token.SecretID)])
  t.ok(row(), 'still there, and worth nothing')
  const duties = server.startDuty('acl')
  await eventually('its removal', async () => (row() === undefined ? true : undefined))
  await duties.stop()
})

void t.test('lists are filtered and cut into pages', async (t) => {
  const { manage } = await begun(t)
  await manage('PUT', '/v1/acl/policy/one', { Rules: '', Description: 'first' })
  await manage('PUT', '/v1/acl/policy/two', { Rules: '' })
  for (const name of ['a', 'b', 'c']) {
    await manage('PUT', '/v1/acl/token', { Name: name, Policies: ['one'] })
  }
  const list = async (query: string) => (await manage('GET', `/v1/acl/tokens?${query}`)).json()
  t.equal(((await list('')) as unknown[]).length, 4)
  t.match(await list('filter=Name == "b"'), [{ Name: 'b' }])
  t.match(await list('filter=Type == management'), [{ Name: 'Bootstrap Token' }])
  t.equal(((await list('policy=one')) as unknown[]).length, 3)
  t.notMatch(JSON.stringify(await list('')), /SecretID|[Hh]ash/)
  const seen: string[] = []
  for (let token = ''; ;) {
    const page = await manage('GET', `/v1/acl/tokens?per_page=2&next_token=${token}`)
    for (const row of page.json() as Shown[]) seen.push(row.AccessorID)
    const next = page.headers['x-service-nexttoken']
    if (typeof next !== 'string') break
    token = next
  }
  t.equal(new Set(seen).size, 4)
  const policies = (await manage('GET', '/v1/acl/policies?prefix=o')).json() as Shown[]
  t.match(policies, [{ Name: 'one', Description: 'first' }])
  t.notOk(policies.some((policy) => 'Rules' in policy))
})

void t.test('what is wrong is refused, and nothing is written', async (t) => {
  const { manage } = await begun(t)
  const before = (await manage('GET', '/v1/acl/tokens')).body
  const table: readonly (readonly [method: string, path: string, body: unknown, text: RegExp])[] = [
    ['PUT', '/v1/acl/token', {}, /needs Policies or Roles/],
    [
      'PUT',
      '/v1/acl/policy/twice',
      { Rules: '{"agent": "deny", "agent": "write"}' },
      /policy, agent: is given twice/,
    ],
    ['PUT', '/v1/acl/token', { Policies: ['none'] }, /there is no policy "none"/],
    ['PUT', '/v1/acl/token', { Roles: ['none'] }, /there is no role "none"/],
    ['PUT', '/v1/acl/token', { Type: 'root' }, /Type must be client or management/],
    ['PUT', '/v1/acl/token', { Type: 'management', SecretID: 'x' }, /SecretID is drawn/],
    ['PUT', '/v1/acl/token', { Type: 'management', ExpirationTTL: 'soon' }, /ExpirationTTL must/],
    ['PUT', '/v1/acl/token', { Type: 'management', ExpirationTTL: '1ms' }, /lasts from 1s/],
    ['PUT', '/v1/acl/token', { Type: 'management', ExpirationTime: 'x' }, /ExpirationTime must/],
    [
      'PUT',
      '/v1/acl/token',
      { Type: 'management', ExpirationTime: '2001-01-01T00:00:00Z' },
      /lasts/,
    ],
    [
      'PUT',
      '/v1/acl/token',
      { Type: 'management', Policies: ['p'] },
      /Policies must be empty where Type is management/,
    ],
    [
      'PUT',
      '/v1/acl/token',
      { Type: 'management', Roles: ['r'] },
      /Roles must be empty where Type/,
    ],
    ['PUT', '/v1/acl/token', { Type: 'management', Policies: [7] }, /Policies must be an object/],
    ['PUT', '/v1/acl/token', undefined, /body is empty/],
    ['PUT', '/v1/acl/policy/a%20b', { Rules: '' }, /name of a policy is/],
    ['PUT', '/v1/acl/policy/p', {}, /Rules is missing/],
    ['PUT', '/v1/acl/policy/p', { Rules: 'node {', Name: 'p' }, /never closed/],
    ['PUT', '/v1/acl/policy/p', { Rules: '', Name: 'q' }, /Name differs/],
    ['PUT', '/v1/acl/role/r', { Policies: [] }, /needs Policies/],
  ]
  for (const [method, path, body, text] of table) {
    const answer = await manage(method, path, body)
    t.equal(answer.status, 400, `${path} ${JSON.stringify(body)} ${answer.body}`)
    t.match(answer.body, text)
  }
  t.equal((await manage('GET', '/v1/acl/tokens')).body, before)
  t.equal((await manage('GET', '/v1/acl/token/none')).status, 404)
  t.equal((await manage('GET', '/v1/acl/policy/none')).status, 404)
})

void t.test('sessions end with the token that made them, in the same entry', async (t) => {
  const { server, root, as, manage } = await begun(t)
  await manage('PUT', '/v1/catalog/register', { Node: 'n', Address: '10.0.0.1' })
  const rules = 'session_prefix "" { policy = "write" }\nkey_prefix "" { policy = "write" }'
  const token = await tokenWith(server, root, rules)
  const mine = as(token.SecretID)
  const made = await mine('PUT', '/v1/session/create', { Node: 'n', NodeChecks: [] })
  const session = (made.json() as { readonly ID: string }).ID
  t.equal((await mine('PUT', `/v1/kv/lock?acquire=${session}`, 'x')).body, 'true')
  t.equal((await manage('DELETE', `/v1/acl/token/${token.AccessorID}`)).status, 200)
  t.equal((await manage('GET', `/v1/session/info/${session}`)).body, '[]')
  const [key] = (await manage('GET', '/v1/kv/lock')).json() as [Readonly<Record<string, unknown>>]
  t.notOk('Session' in key, 'the lock is free')
  const tokens = await manage('GET', '/v1/acl/tokens')
  t.equal(String(key['ModifyIndex']), tokens.headers['x-service-index'], 'in one entry')
})

void t.test('an explanation names the rules tried and the capability missing', async (t) => {
  const { server, root, as, manage } = await begun(t)
  const rules = 'key_prefix "app/" { policy = "read" }\nkey "app/secret" { policy = "deny" }'
  const token = await tokenWith(server, root, rules)
  const about = async (body: object) => {
    const answer = await manage('PUT', '/v1/acl/explain', { Token: token.AccessorID, ...body })
    t.equal(answer.status, 200, answer.body)
    return answer.json()
  }
  t.match(await about({ Method: 'PUT', Path: '/v1/kv/app/x' }), {
    Route: 'PUT /v1/kv/*',
    Allowed: false,
    Capability: 'key:write',
    Missing: 'key:write',
    DecidedBy: 'rules',
    Rules: [{ Policy: 'p', Where: 'line 1', Name: 'app/*', Capabilities: ['list', 'read'] }],
  })
  t.match(await about({ Path: '/v1/kv/app/secret' }), {
    Allowed: false,
    Rules: [{ Where: 'line 2', Capabilities: ['deny'] }, { Where: 'line 1' }],
  })
  t.match(await about({ Path: '/v1/kv/app/x' }), { Allowed: true, Missing: null })
  t.match(await about({ Path: '/v1/kv/other' }), { Allowed: false, DecidedBy: 'default policy' })
  t.match(await about({ Token: token.SecretID, Path: '/v1/acl/token/self' }), {
    Allowed: true,
    DecidedBy: 'nothing is required',
    Token: { AccessorID: token.AccessorID },
  })
  t.match(await about({ Token: root, Method: 'DELETE', Path: '/v1/var/x' }), {
    Capability: 'variables:destroy',
    DecidedBy: 'management',
  })
  const body = { Items: { a: 'b' } }
  t.match(await about({ Token: '', Method: 'PUT', Path: '/v1/var/x', Body: body }), {
    Token: null,
    Missing: 'variables:write',
  })
  t.equal((await manage('GET', '/v1/var/x')).status, 404, 'and nothing was written')

  const refused = await as(token.SecretID)('PUT', '/v1/acl/explain', { Path: '/v1/kv/x' })
  t.equal(refused.status, 403)
  t.match(refused.body, /^Permission denied: token .* lacks permission 'acl:read', request \S+$/)
  const bare = async (method: string, query: string) => {
    const answer = await manage(method, `/v1/acl/explain?${query}`)
    t.equal(answer.status, 200, `${method} ${query}: ${answer.body}`)
    return answer.json()
  }
  const mine = `accessor=${token.AccessorID}`
  for (const method of ['GET', 'PUT', 'POST']) {
    t.match(await bare(method, `${mine}&method=PUT&path=/v1/kv/app/x`), {
      Allowed: false,
      Missing: 'key:write',
      DependsOn: null,
    })
  }
  for (const [path, missing] of [
    ['/v1/var/x', 'variables:write'],
    ['/v1/txn', 'key:write'],
    ['/v1/catalog/register', null],
    ['/v1/agent/service/register', 'service:write'],
    ['/v1/acl/token', 'acl:write'],
  ]) {
    const found = await bare('GET', `${mine}&method=PUT&path=${path}`)
    t.match(found, { Missing: missing, DependsOn: /an example was judged/ }, path ?? '')
  }
  t.match((await manage('GET', '/v1/acl/explain')).body, /name the request to explain/)
  for (const [path, missing] of [
    ['/v1/agent/service/deregister/of-a-client', 'service:write'],
    ['/v1/agent/check/pass/service:of-a-client', 'service:write'],
    ['/v1/agent/check/pass/of-a-client', 'node:write'],
  ]) {
    t.match(
      await about({ Method: 'PUT', Path: path }),
      { Missing: missing, DependsOn: /'service:write' on the name of the service/ },
      path ?? '',
    )
  }
  t.equal((await manage('PUT', '/v1/acl/explain', { Path: '/v1/none' })).status, 404)
  t.equal((await manage('PUT', '/v1/acl/explain', { Path: 'x' })).status, 400)
})
