/** Batch tokens: good on their own, without a row, and worth nothing once they were altered or what they hang on is gone. */
import t from 'tap'
import { issueBatchLogin } from '../../../src/domains/acl/login-grant.ts'
import { systemLifetimes } from '../../../src/domains/acl/lifetime-model.ts'
import { batchTokens } from '../../../src/domains/acl/services.ts'
import { aclTokens } from '../../../src/domains/acl/table.ts'
import { noTokenParameters } from '../../../src/domains/acl/token-parameters-model.ts'
import { firstOf } from '../../../src/domains/define.ts'
import { keyring } from '../../../src/domains/variables/table.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'
import { specWith } from './token-rows.ts'

type Auth = { readonly client_token: string; readonly accessor: string }

async function started(t: Parameters<typeof serverOfOne>[0]) {
  const server = await serverOfOne(t, { acl: { enabled: true, defaultPolicy: 'deny' } })
  const made = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = made.json() as { readonly SecretID: string }
  const rules = 'key_prefix "" { policy = "write" }\nauth "token/create" { policy = "write" }'
  await server.ask('PUT', '/v1/acl/policy/keys', { Rules: rules }, root)
  return { server, root }
}

async function make(server: ServerOfOne, token: string, body: object): Promise<Auth> {
  const answer = await server.ask('POST', '/v1/auth/token/create', body, token)
  const { auth } = answer.json() as { readonly auth?: Auth }
  if (auth === undefined) throw new Error(answer.body)
  return auth
}

async function statusWith(server: ServerOfOne, token: string): Promise<number> {
  return (await server.ask('GET', '/v1/kv/a', undefined, token)).status
}

void t.test(
  'a batch token does what its policies allow, and nothing is stored for it',
  async (t) => {
    const { server, root } = await started(t)
    const before = server.machine.reader().tableIndex(aclTokens)
    const batch = await make(server, root, {
      type: 'batch',
      policies: ['keys'],
      ttl: '1h',
      meta: { a: 'b' },
    })
    t.match(batch, { accessor: '', token_type: 'batch', renewable: false, lease_duration: 3_600 })
    t.equal(server.machine.reader().tableIndex(aclTokens), before)
    const token = batch.client_token
    t.equal((await server.ask('PUT', '/v1/kv/a', 'x', token)).status, 200)
    t.equal(await statusWith(server, token), 200)
    t.equal((await server.ask('GET', '/v1/acl/tokens', undefined, token)).status, 403)
    const self = await server.ask('GET', '/v1/auth/token/lookup-self', undefined, token)
    const data = { id: token, accessor: '', type: 'batch', renewable: false, meta: { a: 'b' } }
    t.match(self.json(), { data })
    t.match((await server.ask('POST', '/v1/auth/token/lookup', { token }, root)).json(), { data })
    const explained = async (Token: string, Path: string) =>
      server.ask('PUT', '/v1/acl/explain', { Token, Path, Method: 'PUT' }, root)
    t.match((await explained(token, '/v1/kv/a')).json(), {
      Allowed: true,
      Token: { AccessorID: '', Policies: ['default', 'keys'] },
      Rules: [{ Policy: 'keys' }],
    })
    t.match((await explained(token, '/v1/agent/reload')).json(), { Allowed: false })
    t.equal((await explained(`${token}x`, '/v1/kv/a')).status, 404)
    const agent = await server.ask('GET', '/v1/acl/token/self?expanded=true', undefined, token)
    t.match(agent.json(), {
      AccessorID: '',
      ExpandedPolicies: [{ Name: 'default' }, { Name: 'keys' }],
    })
    for (const [verb, body, asker] of [
      ['renew-self', {}, token],
      ['revoke-self', {}, token],
      ['create', {}, token],
      ['renew', { token }, root],
      ['revoke', { token }, root],
      ['revoke-orphan', { token }, root],
    ] as const) {
      const answer = await server.ask('POST', `/v1/auth/token/${verb}`, body, asker)
      t.equal(answer.status, 400, verb)
      t.match(answer.body, /batch/, verb)
    }
  },
)

void t.test('an altered, cut, lengthened or oversized one is refused', async (t) => {
  const { server, root } = await started(t)
  const { client_token: token } = await make(server, root, { type: 'batch', policies: ['keys'] })
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const altered = (at: number) => {
    const other = letters[(letters.indexOf(token[at] ?? '') + 1) % letters.length] ?? 'A'
    return token.slice(0, at) + other + token.slice(at + 1)
  }
  const bad = [
    ...[3, 4, 40, 60, 90, token.length - 2, token.length - 1].map(altered),
    token.slice(0, -1),
    token.slice(0, 60),
    `${token}A`,
    `${token}.`,
    'mb.',
    'mb.AAAA',
    `mb.${'A'.repeat(9_000)}`,
  ]
  for (const secret of bad) {
    const answer = await server.ask('GET', '/v1/auth/token/lookup-self', undefined, secret)
    t.equal(answer.status, 403, secret.slice(0, 20))
    t.equal(answer.body, '{"errors":["permission denied"]}')
  }
  t.equal(await statusWith(server, token), 404)
})

void t.test('it ends with the token that made it, at once', async (t) => {
  const { server, root } = await started(t)
  const parent = await make(server, root, { policies: ['keys'] })
  const { client_token: token } = await make(server, parent.client_token, { type: 'batch' })
  const free = await make(server, root, { type: 'batch', policies: ['keys'], no_parent: true })
  t.equal(await statusWith(server, token), 404)
  await server.ask('POST', '/v1/auth/token/revoke-accessor', { accessor: parent.accessor }, root)
  t.equal(await statusWith(server, token), 403)
  t.equal(await statusWith(server, free.client_token), 404)
})

void t.test('it ends with the key that sealed it', async (t) => {
  const { server, root } = await started(t)
  const { client_token: token } = await make(server, root, { type: 'batch', policies: ['keys'] })
  t.equal(await statusWith(server, token), 404)
  const key = await firstOf(server.machine.reader().pages(keyring))
  await server.ask('PUT', '/v1/operator/keyring/rotate', undefined, root)
  await server.propose({ type: 'keyring.remove', args: { id: key?.id } })
  t.equal(await statusWith(server, token), 403)
})

void t.test('a login gets one, which ends with its mount', async (t) => {
  const { server } = await started(t)
  const read = () => server.machine.reader()
  const { signal } = new AbortController()
  const context = { clock: systemClock, read, service: server.services.get, signal }
  const issued = await issueBatchLogin(context, {
    kind: 'batch',
    policies: ['keys'],
    displayName: 'ldap-ada',
    path: 'auth/ldap/login/ada',
    metadata: [['username', 'ada']],
    issuer: { mount: 'ldap', mountId: 'no-such-mount', alias: 'ada' },
    entityId: null,
    parameters: { ...noTokenParameters, ttlMs: 60_000 },
    lifetimes: systemLifetimes,
    remote: '127.0.0.1',
  })
  t.match(issued.row, { kind: 'batch', accessor: '', name: 'ldap-ada' })
  t.equal(await statusWith(server, issued.secret), 403, 'there is no such mount')
})

void t.test('64 policies may be named, and a token of any type has `default` too', async (t) => {
  const { server, root } = await started(t)
  const policies = Array.from({ length: 64 }, (_, place) => `p${place}`)
  for (const type of ['service', 'batch']) {
    const { client_token: token } = await make(server, root, { policies, type })
    const self = await server.ask('GET', '/v1/auth/token/lookup-self', undefined, token)
    t.match(self.json(), { data: { policies: [...policies, 'default'].sort() } }, type)
    const more = { policies: [...policies, 'p64'], type }
    const refused = await server.ask('POST', '/v1/auth/token/create', more, root)
    t.equal(refused.status, 400)
    t.match(refused.json(), { errors: ['policies may hold at most 64 policies'] })
  }
})

void t.test('it looks itself up without naming itself', async (t) => {
  const { server, root } = await started(t)
  const rules = 'auth "token/lookup" { policy = "write" }'
  await server.ask('PUT', '/v1/acl/policy/looks', { Rules: rules }, root)
  const { client_token: id } = await make(server, root, { type: 'batch', policies: ['looks'] })
  for (const method of ['GET', 'POST']) {
    const answer = await server.ask(method, '/v1/auth/token/lookup', undefined, id)
    t.match(answer.json(), { data: { id, type: 'batch' } })
  }
})

void t.test('one that could not be opened is not made', async (t) => {
  const { server } = await started(t)
  const { signal } = new AbortController()
  const read = () => server.machine.reader()
  const context = { clock: systemClock, read, service: server.services.get, signal }
  const policies = ['x'.repeat(129)]
  await t.rejects(server.services.get(batchTokens).issue(context, specWith({ policies }), null), {
    code: 'internal',
  })
})

void t.test('its sessions end with its time, and with the token that it ends with', async (t) => {
  const { server, root } = await started(t)
  const rules = 'session_prefix "" { policy = "write" }\nauth "token/create" { policy = "write" }'
  await server.ask('PUT', '/v1/acl/policy/locks', { Rules: rules }, root)
  const node = { Node: 'n', Address: '127.0.0.1' }
  await server.ask('PUT', '/v1/catalog/register', node, root)
  const session = async (token: string, body: object = {}): Promise<string> => {
    const answer = await server.ask(
      'PUT',
      '/v1/session/create',
      { Node: 'n', Checks: [], ...body },
      token,
    )
    t.equal(answer.status, 200, answer.body)
    return (answer.json() as { readonly ID: string }).ID
  }
  const isThere = async (id: string): Promise<boolean> =>
    ((await server.ask('GET', `/v1/session/info/${id}`, undefined, root)).json() as unknown[])
      .length > 0
  const own = { policies: ['locks'], ttl: '2s' }
  const short = await make(server, root, { ...own, type: 'batch' })
  const plain = await session(short.client_token)
  const timed = await session(short.client_token, { TTL: '1h' })
  t.ok((await isThere(plain)) && (await isThere(timed)))

  const maker = await make(server, root, { policies: ['locks'], ttl: '1h' })
  const child = await make(server, maker.client_token, { type: 'batch', ttl: '1h' })
  const ofChild = await session(child.client_token)
  await server.ask('POST', '/v1/auth/token/revoke', { token: maker.client_token }, root)
  t.notOk(await isThere(ofChild), 'in the entry that revokes its parent')
  await eventuallyTrue(
    'both have ended',
    async () => !(await isThere(plain)) && !(await isThere(timed)),
  )
})

void t.test('a type of the request that the role overrules is told in a warning', async (t) => {
  const { server, root } = await started(t)
  for (const [roleType, type, made] of [
    ['batch', 'service', 'batch'],
    ['service', 'batch', 'service'],
    ['batch', 'batch', null],
    ['service', '', null],
    ['default-service', 'batch', null],
    ['default-batch', 'service', null],
  ] as const) {
    const role = { allowed_policies: 'ci', token_type: roleType }
    await server.ask('POST', '/v1/auth/token/roles/ci', role, root)
    const answer = await server.ask('POST', '/v1/auth/token/create/ci', { type }, root)
    t.equal(answer.status, 200)
    const expected =
      made === null ? null : [`type is ignored: by its "token_type" the role makes ${made} tokens`]
    t.same(
      (answer.json() as { readonly warnings: unknown }).warnings,
      expected,
      `${roleType} ${type}`,
    )
  }
})
