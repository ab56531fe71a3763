/** The life of a token as clients of the secrets service see it: made, looked up, renewed, revoked, with those below it. */
import t from 'tap'
import { allTokens } from '../../../src/domains/acl/queries.ts'
import type { Answer, ServerOfOne } from '../server-of-one.ts'
import { started } from './started.ts'

type Auth = {
  readonly client_token: string
  readonly accessor: string
  readonly policies: readonly string[]
  readonly lease_duration: number
  readonly renewable: boolean
  readonly orphan: boolean
}
type Envelope = {
  readonly auth?: Auth | null
  readonly data: Readonly<Record<string, unknown>> | null
  readonly warnings: readonly string[] | null
}

function inside(answer: Answer): Envelope {
  return answer.json() as Envelope
}

function authOf(answer: Answer): Auth {
  const { auth } = inside(answer)
  if (auth === null || auth === undefined) throw new Error(`${answer.status} ${answer.body}`)
  return auth
}

async function make(server: ServerOfOne, token: string, body: object, form = 'create') {
  return authOf(await server.ask('POST', `/v1/auth/token/${form}`, body, token))
}

async function statusOfSelf(server: ServerOfOne, token: string): Promise<number> {
  return (await server.ask('GET', '/v1/auth/token/lookup-self', undefined, token)).status
}

void t.test('a token is made, looked up in all three ways, renewed and revoked', async (t) => {
  const { server, root } = await started(t)
  const body = { policies: 'Ops, dev', ttl: '1h', meta: { team: 'a' }, display_name: 'my ci' }
  const auth = await make(server, root, body)
  t.match(auth, { policies: ['default', 'dev', 'ops'], renewable: true, orphan: false })
  t.equal(auth.lease_duration, 3_600)
  const secret = auth.client_token
  const expected = {
    accessor: auth.accessor,
    policies: ['default', 'dev', 'ops'],
    path: 'auth/token/create',
    meta: { team: 'a' },
    display_name: 'token-my-ci',
    num_uses: 0,
    orphan: false,
    creation_ttl: 3_600,
    explicit_max_ttl: 0,
    entity_id: '',
    type: 'service',
    renewable: true,
  }
  const self = await server.ask('GET', '/v1/auth/token/lookup-self', undefined, secret)
  t.match(inside(self).data, { ...expected, id: secret })
  t.notOk('period' in (inside(self).data ?? {}))
  t.notOk('bound_cidrs' in (inside(self).data ?? {}))
  t.notOk('last_renewal_time' in (inside(self).data ?? {}))
  t.equal(self.headers['cache-control'], 'no-store')
  const bySecret = await server.ask('POST', '/v1/auth/token/lookup', { token: secret }, root)
  t.match(inside(bySecret).data, { ...expected, id: secret })
  const { accessor } = auth
  const byAccessor = await server.ask('POST', '/v1/auth/token/lookup-accessor', { accessor }, root)
  t.match(inside(byAccessor).data, { ...expected, id: '' })
  const listed = await server.ask('GET', '/v1/auth/token/accessors?list=true', undefined, root)
  t.ok(((inside(listed).data?.['keys'] ?? []) as readonly string[]).includes(accessor))
  t.equal(
    (await server.ask('GET', '/v1/auth/token/accessors?list=true', undefined, secret)).status,
    403,
  )

  const renewed = await server.ask('POST', '/v1/auth/token/renew-self', { increment: '2h' }, secret)
  t.match(authOf(renewed), { client_token: secret, lease_duration: 7_200, renewable: true })
  const other = { accessor, increment: 60 }
  const again = await server.ask('POST', '/v1/auth/token/renew-accessor', other, root)
  t.match(authOf(again), { client_token: '', lease_duration: 60 })
  const after = await server.ask('GET', '/v1/auth/token/lookup-self', undefined, secret)
  t.type(inside(after).data?.['last_renewal_time'], 'number')

  const read = await server.ask('GET', `/v1/acl/token/${accessor}`, undefined, root)
  t.match(read.json(), { AccessorID: accessor, Name: 'token-my-ci' })
  t.equal((await server.ask('POST', '/v1/auth/token/revoke-self', undefined, secret)).status, 204)
  t.equal(await statusOfSelf(server, secret), 403)
  t.equal((await server.ask('GET', `/v1/acl/token/${accessor}`, undefined, root)).status, 404)
  for (const [url, sent] of [
    ['lookup', { token: secret }],
    ['lookup-accessor', { accessor }],
    ['renew', { token: secret }],
    ['renew-accessor', { accessor }],
  ] as const) {
    const answer = await server.ask('POST', `/v1/auth/token/${url}`, sent, root)
    t.same([answer.status, answer.body], [403, '{"errors":["permission denied"]}'], url)
  }
})

void t.test(
  'children fall with their parent, orphans do not, and may be left behind',
  async (t) => {
    const { server, root } = await started(t)
    const parentPolicy = 'path-less'
    const rules =
      'auth "token/create" { policy = "write" }\n auth "token/create-orphan" { policy = "write" }'
    await server.ask('PUT', `/v1/acl/policy/${parentPolicy}`, { Rules: rules }, root)
    const family = async () => {
      const parent = await make(server, root, { policies: [parentPolicy] })
      const child = await make(server, parent.client_token, {})
      const grandchild = await make(server, child.client_token, {})
      const orphan = await make(server, parent.client_token, {}, 'create-orphan')
      return { parent, child, grandchild, orphan }
    }
    const first = await family()
    t.same(first.child.policies, ['default', parentPolicy])
    t.equal(first.orphan.orphan, true)
    await server.ask('POST', '/v1/auth/token/revoke', { token: first.parent.client_token }, root)
    t.equal(await statusOfSelf(server, first.child.client_token), 403)
    t.equal(await statusOfSelf(server, first.grandchild.client_token), 403)
    t.equal(await statusOfSelf(server, first.orphan.client_token), 200)

    const second = await family()
    const token = second.parent.client_token
    const left = await server.ask('POST', '/v1/auth/token/revoke-orphan', { token }, root)
    t.equal(left.status, 204)
    t.equal(await statusOfSelf(server, token), 403)
    const self = await server.ask(
      'GET',
      '/v1/auth/token/lookup-self',
      undefined,
      second.child.client_token,
    )
    t.match(inside(self).data, { orphan: true })
    t.equal(await statusOfSelf(server, second.grandchild.client_token), 200)
    // The grandchild still hangs on the child.
    await server.ask('DELETE', `/v1/acl/token/${second.child.accessor}`, undefined, root)
    t.equal(await statusOfSelf(server, second.grandchild.client_token), 403)
  },
)

void t.test('what a token may not ask for is 400', async (t) => {
  const { server, root } = await started(t)
  const rules = 'auth "token/create" { policy = "write" }'
  await server.ask('PUT', '/v1/acl/policy/makers', { Rules: rules }, root)
  const maker = await make(server, root, { policies: ['makers'] })
  const counted = await make(server, root, { policies: ['makers'], num_uses: 3 })
  const refused: readonly (readonly [name: string, token: string, body: object])[] = [
    ['more policies', maker.client_token, { policies: ['makers', 'ops'] }],
    ['an orphan', maker.client_token, { no_parent: true }],
    ['a periodic token', maker.client_token, { period: '1h' }],
    ['root', maker.client_token, { policies: ['root'] }],
    ['a child of a counted token', counted.client_token, {}],
    ['a batch root token', root, { type: 'batch' }],
    ['a counted batch token', root, { type: 'batch', policies: ['a'], num_uses: 1 }],
    ['a periodic batch token', root, { type: 'batch', policies: ['a'], period: '1h' }],
    ['another type', root, { type: 'house' }],
    ['a negative duration', root, { ttl: -1 }],
    ['a word for a duration', root, { ttl: 'long' }],
    ['negative uses', root, { num_uses: -1 }],
    ['an id', root, { id: 'x' }],
  ]
  for (const [name, token, body] of refused) {
    const answer = await server.ask('POST', '/v1/auth/token/create', body, token)
    t.equal(answer.status, 400, `${name}: ${answer.body}`)
  }
  const lasting = 'must be from 0 to 315360000 seconds (87600h)'
  for (const [path, body, text] of [
    ['create', { lease: 2 ** 31 }, `lease ${lasting}`],
    ['create', { period: '87601h' }, `period ${lasting}`],
    ['renew-self', { increment: 2 ** 31 }, `increment ${lasting}`],
    ['roles/ci', { token_explicit_max_ttl: '87601h' }, `token_explicit_max_ttl ${lasting}`],
    ['roles/ci', { token_num_uses: -1 }, 'token_num_uses must not be negative'],
    [
      'roles/ci',
      { token_period: 2_764_801 },
      'token_period must not be greater than the maximum of 2764800s',
    ],
    [
      'create',
      { display_name: 'x'.repeat(3_000) },
      'display_name must be a string of at most 1024 characters',
    ],
    ['create', { type: 'x'.repeat(33) }, 'type must be service or batch'],
    [
      'create',
      { meta: { text: 'x'.repeat(20_000) } },
      'meta may have at most 64 entries of together 16384 bytes',
    ],
    [
      'roles/ci',
      { path_suffix: 'x'.repeat(200) },
      'path_suffix must be a string of at most 128 characters',
    ],
    [
      'roles/ci',
      { allowed_entity_aliases: ['x'.repeat(2_000)] },
      'allowed_entity_aliases has at most 128 names of 1 to 1024 characters',
    ],
  ] as const) {
    const answer = await server.ask('POST', `/v1/auth/token/${path}`, body, root)
    t.same(answer.json(), { errors: [text] }, path)
  }
  t.equal((await server.ask('POST', '/v1/auth/token/create', {})).status, 403)
  const plain = await make(server, root, { policies: ['nothing'] })
  const denied = await server.ask('POST', '/v1/auth/token/create', {}, plain.client_token)
  t.equal(denied.status, 403)
})

void t.test('sudo on the path asks for other policies, orphans and periods', async (t) => {
  const { server, root } = await started(t)
  const rules = (path: string, given: string) => ({
    policy: `path "auth/token/${path}" { capabilities = ["create", "update"${given}] }`,
  })
  const paths = ['create', 'create-orphan', 'create/ci']
  await server.ask('POST', '/v1/auth/token/roles/ci', { renewable: true }, root)
  const wishes = [{ policies: ['ops'] }, { no_parent: true }, { period: '1h' }]
  for (const path of paths) {
    const policy = path.replace('/', '-')
    for (const [name, given] of [
      [policy, ''],
      [`${policy}-sudo`, ', "sudo"'],
    ] as const) {
      const url = `/v1/sys/policies/acl/${name}`
      t.equal((await server.ask('PUT', url, rules(path, given), root)).status, 204)
    }
    const plain = await make(server, root, { policies: [policy] })
    const sudo = await make(server, root, { policies: [policy, `${policy}-sudo`] })
    // By a role its own settings decide about orphans and periods.
    for (const wish of path === 'create/ci' ? wishes.slice(0, 1) : wishes) {
      const url = `/v1/auth/token/${path}`
      const what = `${path} ${JSON.stringify(wish)}`
      t.equal((await server.ask('POST', url, wish, plain.client_token)).status, 400, what)
      t.equal((await server.ask('POST', url, wish, sudo.client_token)).status, 200, what)
    }
  }
  const sudo = await make(server, root, { policies: ['create', 'create-sudo'] })
  const orphan = await make(server, sudo.client_token, { no_parent: true, period: '1h' })
  t.match(orphan, { orphan: true, lease_duration: 3_600, policies: ['create', 'create-sudo'] })
  const other = await make(server, sudo.client_token, { policies: ['ops'] })
  t.same(other.policies, ['default', 'ops'])
  const asked = { policies: ['root'] }
  const answer = await server.ask('POST', '/v1/auth/token/create', asked, sudo.client_token)
  t.equal(answer.status, 400, 'a root token takes a root token')
})

void t.test('a page of accessors costs what is on it, and not what is before it', async (t) => {
  const { server, root } = await started(t)
  for (let made = 0; made < 12; made += 1) await make(server, root, { policies: ['a'] })
  const page = async (query: string) => {
    const url = `/v1/auth/token/accessors?list=true&${query}`
    const answer = await server.ask('GET', url, undefined, root)
    t.equal(answer.status, 200, answer.body)
    const keys = inside(answer).data?.['keys'] as readonly string[]
    return { keys, next: answer.headers['x-service-nexttoken'] }
  }
  const whole = await page('')
  t.equal(whole.keys.length, 13)
  const found: string[] = []
  let next: unknown = ''
  while (typeof next === 'string') {
    const part = await page(`per_page=5${next === '' ? '' : `&next_token=${next}`}`)
    found.push(...part.keys)
    next = part.next
  }
  t.same(found, whole.keys)

  const reader = server.machine.reader()
  const from = whole.keys[10] ?? ''
  const read: string[] = []
  for await (const rows of allTokens(reader, from)) {
    read.push(...rows.map(({ accessor }) => accessor))
  }
  t.same(read, whole.keys.slice(10), 'rows before the page are not read')
  for (const token of ['x'.repeat(9_000), '%00', 'a/b/c/d', '%F0%9D%92%9C']) {
    const url = `/v1/auth/token/accessors?list=true&per_page=5&next_token=${token}`
    const { status } = await server.ask('GET', url, undefined, root)
    t.ok([200, 400, 404].includes(status), `${status} for ${token.slice(0, 20)}`)
  }
})

void t.test('by a role only the role makes orphans, whatever the caller asks for', async (t) => {
  const { server, root } = await started(t)
  const rules = 'auth "token/create/*" { policy = "write" }'
  await server.ask('PUT', '/v1/acl/policy/makers', { Rules: rules }, root)
  await server.ask('POST', '/v1/auth/token/roles/kept', {}, root)
  await server.ask('POST', '/v1/auth/token/roles/free', { orphan: true }, root)
  const maker = await make(server, root, { policies: ['makers'] })
  const made = async (token: string, role: string, body: object) => {
    const answer = await server.ask('POST', `/v1/auth/token/create/${role}`, body, token)
    return { auth: authOf(answer), warnings: inside(answer).warnings }
  }
  const kept = await made(maker.client_token, 'kept', { no_parent: true })
  t.equal(kept.auth.orphan, false)
  t.match(kept.warnings, [/no_parent is ignored/])
  const asRoot = await made(root, 'kept', { no_parent: true, policies: ['a'] })
  t.equal(asRoot.auth.orphan, false)
  const free = await made(maker.client_token, 'free', { no_parent: true })
  t.equal(free.auth.orphan, true)
  t.equal(free.warnings, null)
  await server.ask('POST', '/v1/auth/token/revoke', { token: maker.client_token }, root)
  t.equal(await statusOfSelf(server, kept.auth.client_token), 403)
  t.equal(await statusOfSelf(server, free.auth.client_token), 200)
})

void t.test('without the policy default a token cannot look itself up', async (t) => {
  const { server, root } = await started(t)
  const bare = await make(server, root, { policies: ['x'], no_default_policy: true })
  t.same(bare.policies, ['x'])
  t.equal(await statusOfSelf(server, bare.client_token), 403)
  const usual = await make(server, root, { policies: ['x'] })
  t.equal(await statusOfSelf(server, usual.client_token), 200)
  await server.ask('PUT', '/v1/acl/policy/default', { Rules: 'operator = "read"' }, root)
  t.equal(await statusOfSelf(server, usual.client_token), 403, 'an operator wrote another one')
})

void t.test('periodic tokens, explicit maxima and tokens without an end', async (t) => {
  const { server, root } = await started(t)
  const periodic = await make(server, root, { policies: ['a'], period: '1h', ttl: '5h' })
  t.equal(periodic.lease_duration, 3_600)
  const self = await server.ask(
    'GET',
    '/v1/auth/token/lookup-self',
    undefined,
    periodic.client_token,
  )
  t.equal(inside(self).data?.['period'], 3_600)
  const body = { policies: ['a'], explicit_max_ttl: '1h', ttl: '2h' }
  const answer = await server.ask('POST', '/v1/auth/token/create', body, root)
  t.equal(authOf(answer).lease_duration, 3_600)
  t.equal(inside(answer).warnings?.length, 1)
  const endless = await make(server, root, {})
  t.match(endless, { policies: ['root'], lease_duration: 0, renewable: false })
  const renewal = await server.ask('POST', '/v1/auth/token/renew-self', {}, endless.client_token)
  t.equal(renewal.status, 400)
  const fixed = await make(server, root, { policies: ['a'], renewable: false })
  const refused = await server.ask('POST', '/v1/auth/token/renew-self', {}, fixed.client_token)
  t.equal(refused.status, 400)
})

void t.test('a role says what its tokens get', async (t) => {
  const { server, root } = await started(t)
  const url = '/v1/auth/token/roles/ci'
  t.equal((await server.ask('GET', url, undefined, root)).status, 404)
  t.equal((await server.ask('GET', '/v1/auth/token/roles?list=true', undefined, root)).status, 404)
  const role = {
    allowed_policies: 'build,deploy',
    orphan: true,
    token_period: '1h',
    path_suffix: 'x',
  }
  t.equal((await server.ask('POST', url, role, root)).status, 204)
  await server.ask('POST', url, { token_bound_cidrs: ['127.0.0.0/8'] }, root)
  const read = await server.ask('GET', url, undefined, root)
  t.match(inside(read).data, {
    name: 'ci',
    allowed_policies: ['build', 'deploy'],
    orphan: true,
    period: 3_600,
    token_period: 3_600,
    token_bound_cidrs: ['127.0.0.0/8'],
    token_type: 'default-service',
  })
  const listed = await server.ask('GET', '/v1/auth/token/roles?list=true', undefined, root)
  t.same(inside(listed).data, { keys: ['ci'] })
  const made = await make(server, root, {}, 'create/ci')
  t.match(made, { policies: ['build', 'default', 'deploy'], orphan: true, lease_duration: 3_600 })
  const one = await make(server, root, { policies: ['build'] }, 'create/ci')
  t.same(one.policies, ['build', 'default'])
  const self = await server.ask('GET', '/v1/auth/token/lookup-self', undefined, one.client_token)
  t.match(inside(self).data, { path: 'auth/token/create/ci/x', bound_cidrs: ['127.0.0.0/8'] })
  const more = await server.ask('POST', '/v1/auth/token/create/ci', { policies: ['ops'] }, root)
  t.equal(more.status, 400)
  t.equal((await server.ask('POST', '/v1/auth/token/create/no', {}, root)).status, 400)
  const renewal = () => server.ask('POST', '/v1/auth/token/renew-self', {}, one.client_token)
  await server.ask('POST', url, { token_period: '2h' }, root)
  t.equal(authOf(await renewal()).lease_duration, 7_200)
  t.equal((await server.ask('DELETE', url, undefined, root)).status, 204)
  t.equal((await server.ask('DELETE', url, undefined, root)).status, 204)
  t.equal((await renewal()).status, 400)
  t.equal(await statusOfSelf(server, one.client_token), 200)
})

void t.test('the period of a request counts where its role has none', async (t) => {
  const { server, root } = await started(t)
  const rules = 'auth "token/create/*" { policy = "write" }'
  await server.ask('PUT', '/v1/acl/policy/makers', { Rules: rules }, root)
  const { client_token: maker } = await make(server, root, { policies: ['makers'] })
  const roles = '/v1/auth/token/roles'
  await server.ask('POST', `${roles}/plain`, { allowed_policies: 'ci' }, root)
  await server.ask('POST', `${roles}/batch`, { allowed_policies: 'ci', token_type: 'batch' }, root)
  await server.ask('POST', `${roles}/hour`, { allowed_policies: 'ci', token_period: '1h' }, root)
  const create = (role: string, token: string, body: object = { period: '2h' }) =>
    server.ask('POST', `/v1/auth/token/create/${role}`, body, token)

  const { client_token: periodic, lease_duration } = authOf(await create('plain', root))
  t.equal(lease_duration, 7_200)
  const renew = () => server.ask('POST', '/v1/auth/token/renew-self', { increment: 60 }, periodic)
  const period = async () => {
    const self = await server.ask('GET', '/v1/auth/token/lookup-self', undefined, periodic)
    return inside(self).data?.['period']
  }
  t.equal(authOf(await renew()).lease_duration, 7_200, 'an increment is ignored')
  t.equal(await period(), 7_200)
  await server.ask('POST', `${roles}/plain`, { token_period: '1h' }, root)
  t.equal(authOf(await renew()).lease_duration, 3_600, 'a period of the role goes before it')
  await server.ask('POST', `${roles}/plain`, { token_period: 0 }, root)
  t.equal(authOf(await renew()).lease_duration, 3_600)
  t.equal(await period(), 3_600)

  const refused = await create('plain', maker)
  t.equal(refused.status, 400)
  t.match(refused.json(), { errors: [/required to create a periodic token/] })
  t.equal((await create('plain', maker, {})).status, 200)
  t.equal(authOf(await create('hour', root)).lease_duration, 3_600)
  t.equal(authOf(await create('hour', maker)).lease_duration, 3_600)
  t.match((await create('batch', root)).json(), { errors: [/batch tokens cannot be periodic/] })
})

void t.test('a look-up without a token is one of the own', async (t) => {
  const { server, root } = await started(t)
  const url = '/v1/auth/token/lookup'
  const put = (name: string, rules: string) =>
    server.ask('PUT', `/v1/acl/policy/${name}`, { Rules: rules }, root)
  await put('reads', 'path "auth/token/lookup" { capabilities = ["read"] }')
  await put('looks', 'path "auth/token/lookup" { capabilities = ["update"] }')
  const reads = await make(server, root, { policies: ['reads'] })
  const looks = await make(server, root, { policies: ['looks'] })
  const neither = await make(server, root, { policies: ['default'] })
  const ask = (method: string, { client_token: token }: Auth, body?: object) =>
    server.ask(method, url, body, token)
  t.equal(inside(await ask('GET', reads)).data?.['id'], reads.client_token)
  for (const body of [{}, { token: '' }, undefined]) {
    t.equal(inside(await ask('POST', looks, body)).data?.['id'], looks.client_token)
    t.equal((await ask('POST', reads, body)).status, 403)
    t.equal((await ask('POST', neither, body)).status, 403)
  }
  t.equal((await ask('GET', looks)).status, 403)
  t.equal((await ask('GET', neither)).status, 403)
  for (const method of ['GET', 'POST']) {
    t.equal((await server.ask(method, url)).status, 403, 'without any token')
  }
  const once = await make(server, root, { policies: ['looks'], num_uses: 1 })
  t.equal(inside(await ask('POST', once)).data?.['num_uses'], 0, 'its last use')
  t.equal((await ask('POST', once)).status, 403)
})
