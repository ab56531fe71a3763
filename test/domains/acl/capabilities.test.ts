/** What a token may do at paths, in the words and shapes of Vault: `/v1/sys/capabilities`, `-accessor` and `-self`. */
import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'

type Auth = { readonly auth: { readonly client_token: string; readonly accessor: string } }

const rules = `
  auth "token/create" { policy = "write" }
  auth "sys/auth/team/*" { policy = "read" }
  path "auth/ldap/*" { capabilities = ["list"] }
  path "auth/token/create-orphan" { capabilities = ["create", "update", "sudo"] }
`

const all = ['create', 'delete', 'list', 'read', 'update'] as const

async function begun(t: Parameters<typeof serverOfOne>[0]) {
  const server = await serverOfOne(t, { acl: { enabled: true, defaultPolicy: 'deny' } })
  const made = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = made.json() as { readonly SecretID: string }
  const asRoot = (url: string, body: unknown) => server.ask('POST', url, body, root)
  const policy = await server.ask('PUT', '/v1/acl/policy/some', { Rules: rules }, root)
  t.equal(policy.status, 200)
  const make = async (body: object) =>
    ((await asRoot('/v1/auth/token/create', body)).json() as Auth).auth
  return { server, root, asRoot, make }
}

void t.test('each path has a member, and a single one is also called capabilities', async (t) => {
  const { server, root, asRoot, make } = await begun(t)
  const { client_token: token, accessor } = await make({ policies: ['some'] })
  const self = (body: unknown) => server.ask('POST', '/v1/sys/capabilities-self', body, token)
  const rows: readonly (readonly [path: string, capabilities: readonly string[]])[] = [
    ['auth/token/create', all],
    ['auth/token/create/ci', ['deny']],
    ['auth/token/create-orphan', ['create', 'sudo', 'update']],
    ['auth/token/lookup-self', all],
    ['/auth/ldap/users', ['list']],
    ['sys/auth', ['deny']],
    ['sys/auth/team/eu', ['list', 'read']],
    ['sys/mounts/auth/team/eu/tune', ['list', 'read']],
    ['sys/mounts/auth/team/eu', ['deny']],
    ['sys/policies/acl/some', ['deny']],
    ['secret/data/x', ['deny']],
  ]
  for (const [path, capabilities] of rows) {
    const expected = { [path]: capabilities, capabilities }
    for (const body of [{ paths: [path] }, { paths: path }, { path }, { path: [path] }]) {
      const answer = await self(body)
      const { data, ...rest } = answer.json() as { data: unknown }
      t.strictSame(data, expected, path)
      t.match(rest, expected, 'also at the top level')
    }
    const others = [
      await asRoot('/v1/sys/capabilities', { token, paths: [path] }),
      await asRoot('/v1/sys/capabilities-accessor', { accessor, paths: [path] }),
    ]
    for (const other of others) {
      t.strictSame((other.json() as { data: unknown }).data, expected, path)
    }
  }
  const paths = rows.map(([path]) => path)
  const several = (await self({ paths })).json() as { data: unknown }
  t.strictSame(several.data, Object.fromEntries(rows), 'of several none is called capabilities')
  const rooted = await asRoot('/v1/sys/capabilities', { token: root, path: 'x' })
  t.match(rooted.json(), { data: { x: ['root'], capabilities: ['root'] } })
  t.equal(rooted.headers['cache-control'], 'no-store')
})

void t.test(
  'lists are allowed, and told, with a slash at the end of the path or without',
  async (t) => {
    const { server, asRoot, make } = await begun(t)
    const body = { policies: ['nothing'] }
    await asRoot('/v1/auth/ldap/groups/a', body)
    await asRoot('/v1/auth/ldap/users/a', body)
    await asRoot('/v1/auth/token/roles/a', {})
    const role = { bound_service_account_names: ['*'], bound_service_account_namespaces: ['*'] }
    await asRoot('/v1/auth/orchestrator/role/a', role)
    const paths = [
      'ldap/groups',
      'ldap/users',
      'token/accessors',
      'token/roles',
      'orchestrator/role',
    ]
    for (const path of paths) {
      for (const [end, given, allowed] of [
        ['/*', 'list', true],
        ['/', 'list', true],
        ['', 'list', true],
        ['/*', 'read', false],
        ['/', 'deny', false],
      ] as const) {
        const policy = `path "auth/${path}${end}" { capabilities = ["${given}"] }`
        await asRoot('/v1/sys/policies/acl/lister', { policy })
        const { client_token: token } = await make({ policies: ['lister'] })
        for (const [method, url] of [
          ['LIST', path],
          ['LIST', `${path}/`],
          ['GET', `${path}?list=true`],
          ['GET', `${path}/?list=true`],
        ] as const) {
          const { status } = await server.ask(method, `/v1/auth/${url}`, undefined, token)
          t.equal(status, allowed ? 200 : 403, `${policy} ${method} ${url}`)
        }
        for (const asked of [`auth/${path}`, `auth/${path}/`]) {
          const answer = await server.ask(
            'POST',
            '/v1/sys/capabilities-self',
            { path: asked },
            token,
          )
          const { data } = answer.json() as { data: { capabilities: readonly string[] } }
          t.equal(data.capabilities.includes('list'), allowed, `${policy} ${asked}`)
        }
      }
    }
  },
)

void t.test('to write and to delete are two rights of a path', async (t) => {
  const { server, root, asRoot, make } = await begun(t)
  const role = {
    bound_service_account_names: ['*'],
    bound_service_account_namespaces: ['*'],
    audience: 'here',
  }
  const things: readonly (readonly [path: string, body: object])[] = [
    ['auth/ldap/groups/a', { policies: ['nothing'] }],
    ['auth/ldap/users/a', { policies: ['nothing'] }],
    ['auth/token/roles/a', {}],
    ['auth/orchestrator/role/a', role],
    ['sys/auth/team', { type: 'ldap' }],
  ]
  const rights = [
    ['path', '["delete"]', false, true],
    ['path', '["create", "update", "patch"]', true, false],
    ['path', '["create", "update", "delete"]', true, true],
    ['auth', '["write"]', true, true],
  ] as const
  for (const [path, body] of things) {
    for (const [kind, given, writes, deletes] of rights) {
      const name = kind === 'path' ? path : path.replace(/^auth\//, '')
      const policy = `${kind} "${name}" { capabilities = ${given} }`
      await asRoot('/v1/sys/policies/acl/some', { policy })
      const { client_token: token } = await make({ policies: ['some'] })
      const told = await server.ask('POST', '/v1/sys/capabilities-self', { path }, token)
      const { data } = told.json() as { data: { capabilities: readonly string[] } }
      t.same(
        data.capabilities,
        [
          ...(writes ? ['create'] : []),
          ...(deletes ? ['delete'] : []),
          ...(writes ? ['update'] : []),
        ],
        policy,
      )
      const written = await server.ask('POST', `/v1/${path}`, body, token)
      t.equal(written.status, writes ? 204 : 403, `${policy} writes`)
      if (!writes) await asRoot(`/v1/${path}`, body)
      const deleted = await server.ask('DELETE', `/v1/${path}`, undefined, token)
      t.equal(deleted.status, deletes ? 204 : 403, `${policy} deletes`)
      await server.ask('DELETE', `/v1/${path}`, undefined, root)
    }
  }
})

void t.test(
  'a policy of Vault is taken as it is, with a warning about what has no effect',
  async (t) => {
    const { server, root, asRoot, make } = await begun(t)
    const policy = `
    # Written for Vault.
    path "secret/*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }
    path "sys/policies/acl/*" { capabilities = ["create", "read", "update", "sudo"] }
    path "auth/ldap/config" { capabilities = ["read"] }
  `
    for (const [url, member] of [
      ['/v1/sys/policies/acl/vault', 'policy'],
      ['/v1/sys/policy/vault', 'rules'],
    ] as const) {
      const written = await server.ask('PUT', url, { policy }, root)
      t.equal(written.status, 200)
      const { request_id: id, ...envelope } = written.json() as Record<string, unknown>
      t.type(id, 'string')
      t.match(envelope, {
        data: null,
        auth: null,
        warnings: [/"secret\/\*": write key/, /"sys\/policies\/acl\/\*": policies are read with/],
      })
      t.match((await server.ask('GET', url, undefined, root)).json(), {
        data: { [member]: policy },
      })
    }
    const { client_token: token } = await make({ policies: ['vault'] })
    const status = async (method: string, url: string, body?: unknown) =>
      (await server.ask(method, url, body, token)).status
    t.equal(await status('GET', '/v1/auth/ldap/config'), 200)
    t.equal(await status('GET', '/v1/sys/policies/acl/vault'), 403)
    t.equal(await status('PUT', '/v1/sys/policies/acl/vault', { policy }), 403)
    t.equal(await status('GET', '/v1/kv/secret/a'), 403)
    const paths = ['secret/a', 'sys/policies/acl/vault']
    const told = await server.ask('POST', '/v1/sys/capabilities-self', { paths }, token)
    t.match(told.json(), { data: { 'secret/a': ['deny'], 'sys/policies/acl/vault': ['deny'] } })
    const plain = { policy: 'path "auth/*" { capabilities = ["read"] }' }
    t.equal((await asRoot('/v1/sys/policies/acl/plain', plain)).status, 204)
  },
)

void t.test('policies that older servers refuse wait until there are none', async (t) => {
  const acl = { enabled: true, defaultPolicy: 'deny' } as const
  const server = await serverOfOne(t, { acl, commandVersion: 13 })
  const made = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = made.json() as { readonly SecretID: string }
  const url = '/v1/sys/policies/acl/some'
  const put = (policy: string) => server.ask('PUT', url, { policy }, root)
  const later = [
    'path "secret/*" { capabilities = ["read"] }',
    'path "*" { capabilities = ["read"] }',
    'auth "token/create" { capabilities = ["write", "sudo"] }',
    'auth "ldap/users/*" { capabilities = ["auth:delete"] }',
  ]
  for (const policy of later) {
    const { status, body } = await put(policy)
    t.equal(status, 501, policy)
    t.match(body, 'need every server at command version 14')
  }
  const older = 'path "auth/token/create" { capabilities = ["update", "delete", "sudo"] }'
  t.equal((await put(older)).status, 204)
  await server.propose({ type: 'state.raiseVersion', args: { version: 14 } })
  for (const policy of later) t.ok((await put(policy)).status < 300, policy)
})

void t.test('batch tokens are judged by their secret', async (t) => {
  const { server, asRoot, make } = await begun(t)
  const { client_token: token } = await make({ policies: ['some'], type: 'batch' })
  const asked = { paths: ['auth/token/create'] }
  const expected = { data: { capabilities: all } }
  t.match((await asRoot('/v1/sys/capabilities', { token, ...asked })).json(), expected)
  const self = await server.ask('POST', '/v1/sys/capabilities-self', asked, token)
  t.match(self.json(), expected)
})

void t.test('an unknown token is 400, a wrong caller 403', async (t) => {
  const { server, asRoot, make } = await begun(t)
  const paths = ['auth/token/create']
  const { client_token: token, accessor } = await make({ policies: ['some'] })
  const refused: readonly (readonly [url: string, body: object, text: string])[] = [
    ['capabilities', { token: 'none', paths }, 'invalid token'],
    ['capabilities', { token: 'mb.none', paths }, 'invalid token'],
    ['capabilities', { paths }, 'missing token'],
    ['capabilities', { token }, 'paths must be supplied'],
    ['capabilities', { token, paths: [''] }, 'missing path'],
    ['capabilities-accessor', { accessor: 'none', paths }, 'invalid accessor'],
    ['capabilities-accessor', { accessor: 'x'.repeat(500), paths }, 'invalid accessor'],
    ['capabilities-accessor', { paths }, 'missing accessor'],
    ['capabilities-self', {}, 'paths must be supplied'],
  ]
  for (const [url, body, text] of refused) {
    const answer = await asRoot(`/v1/sys/${url}`, body)
    t.same([answer.status, answer.json()], [400, { errors: [text] }], `${url} ${text}`)
  }
  for (const [url, body] of [
    ['capabilities', { token, paths }],
    ['capabilities-accessor', { accessor, paths }],
  ] as const) {
    t.equal((await server.ask('POST', `/v1/sys/${url}`, body, token)).status, 403, url)
  }
  t.equal((await server.ask('POST', '/v1/sys/capabilities-self', { paths })).status, 403)
  t.equal((await asRoot('/v1/auth/token/revoke', { token })).status, 204)
  t.equal((await asRoot('/v1/sys/capabilities', { token, paths })).status, 400)
  t.equal((await asRoot('/v1/sys/capabilities-accessor', { accessor, paths })).status, 400)
})
