import t from 'tap'
import { noTokenParameters } from '../../../src/domains/acl/token-parameters-model.ts'
import { firstMounts } from '../../../src/domains/logins/model.ts'
import { sealedItems } from '../../../src/domains/variables/table.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne, type Answer, type ServerOfOne } from '../server-of-one.ts'
import { fakeLogin } from './fake-login.ts'

type Auth = {
  readonly auth: { readonly client_token: string; readonly accessor: string }
  readonly warnings: readonly string[] | null
}

async function logIn(server: ServerOfOne, path: string, name: string): Promise<Auth['auth']> {
  const answer = await server.ask('POST', `/v1/auth/${path}/login/${name}`, {
    password: name + name,
  })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body}`)
  return (answer.json() as Auth).auth
}

async function begun(t: Parameters<typeof serverOfOne>[0]) {
  const { directory, domains } = fakeLogin()
  const server = await serverOfOne(t, { domains, acl: { enabled: true } })
  const answer = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = answer.json() as { SecretID: string }
  const asRoot = (method: string, url: string, body?: unknown): Promise<Answer> =>
    server.ask(method, url, body, root)
  return { directory, server, asRoot }
}

t.test('both types are mounted from the start, without any write', async (t) => {
  const { asRoot } = await begun(t)
  const list = await asRoot('GET', '/v1/sys/auth')
  const { data, ...rest } = list.json() as { data: Record<string, unknown> }
  t.same(Object.keys(data), ['ldap/', 'orchestrator/', 'token/'])
  t.match(rest, data, 'also at the top level, as old clients read it')
  t.match(data['ldap/'], {
    type: 'ldap',
    accessor: /^auth_ldap_/,
    config: { default_lease_ttl: 0, max_lease_ttl: 0, token_type: 'default-service' },
  })
  t.equal(list.headers['cache-control'], 'no-store')
})

t.test('a mount is enabled at any path, listed, tuned and disabled', async (t) => {
  const { asRoot } = await begun(t)
  const body = {
    type: 'kubernetes',
    description: 'pods',
    config: { default_lease_ttl: '1h', max_lease_ttl: 7_200, token_type: 'batch' },
  }
  t.equal((await asRoot('POST', '/v1/sys/auth/team/eu/pods', body)).status, 204)
  const read = async (path: string) =>
    ((await asRoot('GET', path)).json() as { data: unknown }).data
  t.match(await read('/v1/sys/auth/team/eu/pods'), {
    type: 'kubernetes',
    accessor: /^auth_kubernetes_[0-9a-f]{8}$/,
    description: 'pods',
    config: { default_lease_ttl: 3_600, max_lease_ttl: 7_200, token_type: 'batch' },
  })
  const tune = { max_lease_ttl: '3h', user_lockout_config: { lockout_threshold: '3' } }
  t.equal((await asRoot('POST', '/v1/sys/auth/team/eu/pods/tune', tune)).status, 204)
  t.same(await read('/v1/sys/auth/team/eu/pods/tune'), {
    default_lease_ttl: 3_600,
    max_lease_ttl: 10_800,
    description: 'pods',
    force_no_cache: false,
    token_type: 'batch',
    user_lockout_config: {
      lockout_threshold: 3,
      lockout_duration: 900,
      lockout_counter_reset_duration: 900,
      lockout_disable: false,
    },
  })
  t.equal((await asRoot('DELETE', '/v1/sys/auth/team/eu/pods')).status, 204)
  t.equal((await asRoot('GET', '/v1/sys/auth/team/eu/pods')).status, 404)
  t.equal((await asRoot('DELETE', '/v1/sys/auth/team/eu/pods')).status, 204, 'also when absent')
})

t.test('sessions and locks of batch tokens end with their mount', async (t) => {
  const { directory, server, asRoot } = await begun(t)
  const rules = 'session_prefix "" { policy = "write" }\nkey_prefix "" { policy = "write" }'
  await asRoot('PUT', '/v1/acl/policy/people', { Rules: rules })
  await asRoot('PUT', '/v1/catalog/register', { Node: 'n', Address: '127.0.0.1' })
  directory.parameters = { ...noTokenParameters, type: 'batch' }
  await asRoot('POST', '/v1/sys/auth/other', { type: 'ldap' })
  const locked = async (path: string, key: string): Promise<string> => {
    const { client_token: token } = await logIn(server, path, 'ada')
    t.match(token, /^mb\./)
    const made = await server.ask('PUT', '/v1/session/create', { Node: 'n', Checks: [] }, token)
    t.equal(made.status, 200, made.body)
    const { ID } = made.json() as { readonly ID: string }
    const lock = await server.ask('PUT', `/v1/kv/${key}?acquire=${ID}`, 'mine', token)
    t.equal(lock.body.trim(), 'true')
    return ID
  }
  const holderOf = async (key: string) =>
    ((await asRoot('GET', `/v1/kv/${key}`)).json() as { Session?: string }[])[0]?.Session
  const session = await locked('ldap', 'a')
  const stays = await locked('other', 'b')
  t.equal(await holderOf('a'), session)
  t.equal((await asRoot('DELETE', '/v1/sys/auth/ldap')).status, 204)
  t.equal(await holderOf('a'), undefined, 'in the entry that disables the mount')
  t.same((await asRoot('GET', `/v1/session/info/${session}`)).json(), [])
  t.equal(await holderOf('b'), stays)
  t.equal((await asRoot('DELETE', '/v1/sys/auth/other')).status, 204)
  t.equal(await holderOf('b'), undefined)
})

t.test('a mount is shown by the word that it was enabled with', async (t) => {
  const { asRoot } = await begun(t)
  for (const type of ['kubernetes', 'orchestrator', 'ldap']) {
    t.equal((await asRoot('POST', `/v1/sys/auth/my/${type}`, { type })).status, 204)
    t.match((await asRoot('GET', `/v1/sys/auth/my/${type}`)).json(), { data: { type } })
  }
  const words = {
    'my/kubernetes/': { type: 'kubernetes' },
    'my/orchestrator/': { type: 'orchestrator' },
    'my/ldap/': { type: 'ldap' },
    'orchestrator/': { type: 'orchestrator' },
  }
  t.match((await asRoot('GET', '/v1/sys/auth')).json(), { ...words, data: words })
  const ui = await asRoot('GET', '/v1/sys/internal/ui/mounts')
  t.match(ui.json(), { data: { auth: words } })
})

t.test("a mount is tuned as Vault's command line does it", async (t) => {
  const { server, asRoot } = await begun(t)
  const config = { default_lease_ttl: '1h', max_lease_ttl: '2h' }
  for (const mount of ['ldap2', 'team/eu/pods']) {
    await asRoot('POST', `/v1/sys/auth/${mount}`, { type: 'ldap', description: 'first', config })
    const paths = [`/v1/sys/auth/${mount}/tune`, `/v1/sys/mounts/auth/${mount}/tune`]
    for (const [at, path] of paths.entries()) {
      // What `vault auth tune -description=… <path>` sends: flags that were not given are empty texts.
      const sent = {
        options: null,
        default_lease_ttl: '',
        max_lease_ttl: '',
        force_no_cache: false,
        description: `tuned ${at}`,
      }
      const written = await asRoot('POST', path, sent)
      t.equal(written.status, 204, written.body)
      const expected = {
        default_lease_ttl: 3_600,
        max_lease_ttl: 7_200,
        description: `tuned ${at}`,
      }
      for (const each of paths) {
        const read = await asRoot('GET', each)
        t.match(read.json(), { ...expected, data: expected }, each)
      }
    }
    const [, mounted = ''] = paths
    t.equal((await asRoot('PUT', mounted, { max_lease_ttl: 'system' })).status, 204)
    t.match((await asRoot('GET', mounted)).json(), { data: { max_lease_ttl: 768 * 3_600 } })
  }
  t.equal((await asRoot('GET', '/v1/sys/mounts/auth/none/tune')).status, 404)
  t.equal((await asRoot('POST', '/v1/sys/mounts/auth/ldap', {})).status, 404)
  t.equal((await server.ask('GET', '/v1/sys/mounts/auth/ldap/tune')).status, 403)
})

t.test('what a mount tells is a whole word, a free path and a known type', async (t) => {
  const { asRoot } = await begun(t)
  t.equal((await asRoot('POST', '/v1/sys/auth/a/b', { type: 'ldap' })).status, 204)
  const rows: readonly (readonly [path: string, body: unknown, text: RegExp])[] = [
    ['x', {}, /type is missing/],
    ['x', { type: 'userpass' }, /no login method of this type/],
    ['ldap', { type: 'ldap' }, /already in use at ldap\//],
    ['ldap/below', { type: 'ldap' }, /already in use at ldap\//],
    ['a', { type: 'ldap' }, /already in use at a\/b\//],
    ['a/b/', { type: 'ldap' }, /already in use at a\/b\//],
    ['token', { type: 'ldap' }, /already in use at token\//],
    ['a//c', { type: 'ldap' }, /path of a mount/],
    ['a%20c', { type: 'ldap' }, /path of a mount/],
    ['x'.repeat(200), { type: 'ldap' }, /path of a mount/],
    [
      'x',
      { type: 'ldap', config: { max_lease_ttl: 1, default_lease_ttl: 2 } },
      /default_lease_ttl/,
    ],
    ['x', { type: 'ldap', config: { token_type: 'other' } }, /token_type must be one of/],
    ['x', { type: 'ldap', config: { listing_visibility: 'unauth' } }, /"unauth" is not served/],
    ['a/b/tune', { listing_visibility: 'unauth' }, /"unauth" is not served/],
    ['a/b/tune', { listing_visibility: 'shown' }, /listing_visibility must be "hidden"/],
    ['x', { type: 'ldap', config: { max_lease_ttl: -1 } }, /config.max_lease_ttl/],
    ['x', { type: 'ldap', description: 'x'.repeat(600) }, /description/],
  ]
  for (const [path, body, text] of rows) {
    const answer = await asRoot('POST', `/v1/sys/auth/${path}`, body)
    t.equal(answer.status, 400, `${path} ${JSON.stringify(body)}: ${answer.body}`)
    t.match(answer.json(), { errors: [text] })
  }
  for (const listing_visibility of ['hidden', '']) {
    t.equal((await asRoot('POST', '/v1/sys/auth/a/b/tune', { listing_visibility })).status, 204)
  }
  for (const path of ['sys/auth/none', 'sys/auth/a/none', 'sys/mounts/auth/none']) {
    t.equal((await asRoot('POST', `/v1/${path}/tune`, {})).status, 404, path)
    t.equal((await asRoot('GET', `/v1/${path}/tune`)).status, 404, path)
  }
})

t.test('the token endpoints are read as a mount, and neither disabled nor tuned', async (t) => {
  const { server, asRoot } = await begun(t)
  const { data: listed } = (await asRoot('GET', '/v1/sys/auth')).json() as {
    readonly data: Readonly<Record<string, unknown>>
  }
  t.match((await asRoot('GET', '/v1/sys/auth/token')).json(), { data: listed['token/'] })
  const tuned = { default_lease_ttl: 2_764_800, max_lease_ttl: 2_764_800 }
  for (const path of ['/v1/sys/auth/token/tune', '/v1/sys/mounts/auth/token/tune']) {
    t.match((await asRoot('GET', path)).json(), { data: tuned, ...tuned })
    const refused = await asRoot('POST', path, { max_lease_ttl: '1h' })
    t.match(refused, { status: 400, body: /token\/ cannot be tuned/ })
  }
  const refused = await asRoot('DELETE', '/v1/sys/auth/token')
  t.match(refused, { status: 400, body: /token\/ cannot be disabled/ })
  t.equal((await server.ask('GET', '/v1/sys/auth/token')).status, 403)
  t.equal((await server.ask('DELETE', '/v1/sys/auth/token')).status, 403)
})

t.test('mounts need rights of their own', async (t) => {
  const { server, asRoot } = await begun(t)
  const rules = 'auth "sys/auth/team/*" { policy = "write" }'
  await asRoot('PUT', '/v1/acl/policy/team', { Rules: rules })
  const made = await asRoot('PUT', '/v1/acl/token', { Type: 'client', Policies: ['team'] })
  const { SecretID } = made.json() as { SecretID: string }
  const asTeam = (method: string, url: string, body?: unknown) =>
    server.ask(method, url, body, SecretID)
  t.equal((await asTeam('GET', '/v1/sys/auth')).status, 403)
  t.equal((await server.ask('GET', '/v1/sys/auth')).status, 403)
  t.equal((await asTeam('POST', '/v1/sys/auth/other', { type: 'ldap' })).status, 403)
  t.equal((await asTeam('POST', '/v1/sys/auth/team/a', { type: 'ldap' })).status, 204)
  t.equal((await asTeam('POST', '/v1/sys/auth/ldap/tune', {})).status, 403)
  t.equal((await asTeam('DELETE', '/v1/sys/auth/ldap')).status, 403)
  t.equal((await asTeam('DELETE', '/v1/sys/auth/team/a')).status, 204)
})

t.test('routes of a type are served at every mount of it, the longest path first', async (t) => {
  const { asRoot } = await begun(t)
  await asRoot('POST', '/v1/sys/auth/team/eu', { type: 'ldap' })
  await asRoot('POST', '/v1/sys/auth/team/us', { type: 'ldap' })
  const keys = async (method: string, url: string) => {
    const answer = await asRoot(method, url)
    return answer.status === 200
      ? (answer.json() as { data: { keys: string[] } }).data.keys
      : answer.status
  }
  t.same(await keys('GET', '/v1/auth/team/eu/role?list=true'), ['b', 'team/eu'])
  t.same(await keys('GET', '/v1/auth/team/us/role/?list=1'), ['b', 'team/us'])
  t.equal(await keys('GET', '/v1/auth/ldap/role?list=true'), 404, 'a list of nothing')
  t.equal(await keys('GET', '/v1/auth/team/eu/role?list=maybe'), 400)
  t.equal(await keys('GET', '/v1/auth/team/eu/role'), 405)
  t.equal(await keys('GET', '/v1/auth/ldap/role'), 405)
  t.equal(await keys('GET', '/v1/auth/team/eu/nothing'), 404)
  t.equal(await keys('GET', '/v1/auth/ldap/nothing'), 404)
  t.equal(await keys('GET', '/v1/auth/team/role'), 404)
  t.equal(await keys('GET', '/v1/auth/team/eu/login/ada'), 405)
  t.equal(await keys('DELETE', '/v1/auth/team/eu/role/x'), 405)
  t.equal(await keys('PATCH', '/v1/auth/team/eu/role/x'), 405)
  for (const path of ['ldap', 'team/eu']) {
    for (const method of ['PUT', 'POST']) {
      const answer = await asRoot(method, `/v1/auth/${path}/role/a%2fb%20c/`)
      t.match(answer.json(), { warnings: ['a/b c'], data: null, auth: null }, `${method} ${path}`)
    }
  }
  const broken = await asRoot('GET', '/v1/auth/team/eu/%zz')
  t.equal(broken.status, 400)
})

t.test('a login issues a token of the mount, good for every endpoint', async (t) => {
  const { server, directory, asRoot } = await begun(t)
  await asRoot('PUT', '/v1/acl/policy/people', { Rules: 'key_prefix "" { policy = "write" }' })
  directory.parameters = { ...noTokenParameters, ttlMs: 60_000, policies: ['extra'] }
  await asRoot('POST', '/v1/sys/auth/team/eu', { type: 'ldap' })
  const answer = await server.ask('POST', '/v1/auth/team/eu/login/ada', { password: 'adaada' })
  t.match(answer.json(), {
    data: null,
    lease_id: '',
    lease_duration: 0,
    renewable: false,
    warnings: null,
    wrap_info: null,
    auth: {
      accessor: /^[0-9a-f-]{36}$/,
      policies: ['default', 'extra', 'people'],
      token_policies: ['default', 'extra', 'people'],
      metadata: { username: 'ada' },
      lease_duration: 60,
      renewable: true,
      entity_id: /^[0-9a-f-]{36}$/,
      token_type: 'service',
      orphan: true,
      num_uses: 0,
    },
  })
  const { client_token: token } = (answer.json() as Auth).auth
  t.equal((await server.ask('PUT', '/v1/kv/a', 'x', token)).status, 200)
  t.equal((await server.ask('PUT', '/v1/acl/policy/x', { Rules: '' }, token)).status, 403)
})

t.test('a refused login is 403 in the words of all refusals', async (t) => {
  const { server } = await begun(t)
  const answer = await server.ask('POST', '/v1/auth/ldap/login/ada', { password: 'no' })
  t.equal(answer.status, 403)
  t.same(answer.json(), { errors: ['permission denied'] })
})

t.test('disabling a mount ends at once what it issued, and the secrets of it', async (t) => {
  const { server, asRoot } = await begun(t)
  await asRoot('PUT', '/v1/acl/policy/people', { Rules: 'key_prefix "" { policy = "write" }' })
  await asRoot('POST', '/v1/sys/auth/other', { type: 'ldap' })
  const [own, other] = [await logIn(server, 'ldap', 'ada'), await logIn(server, 'other', 'ada')]
  const secretOf = ({ accessor }: Auth['auth']) =>
    server.machine.reader().get(sealedItems, ['.logins', `${accessor}/renewal`])
  t.not(secretOf(own), undefined)
  t.notOk(Buffer.from(secretOf(own)?.sealed ?? []).includes('adaada'), 'sealed')
  t.equal((await asRoot('DELETE', '/v1/sys/auth/ldap')).status, 204)
  t.equal((await server.ask('GET', '/v1/kv/a', undefined, own.client_token)).status, 403)
  t.equal((await server.ask('GET', '/v1/kv/a', undefined, other.client_token)).status, 404)
  t.equal(secretOf(own), undefined)
  t.not(secretOf(other), undefined)
  t.equal((await server.ask('POST', '/v1/auth/ldap/login/ada', {})).status, 404)
  const list = (await asRoot('GET', '/v1/sys/auth')).json() as { data: Record<string, unknown> }
  t.same(Object.keys(list.data), ['orchestrator/', 'other/', 'token/'])

  t.equal((await asRoot('POST', '/v1/sys/auth/ldap', { type: 'ldap' })).status, 204)
  const again = (await asRoot('GET', '/v1/sys/auth/ldap')).json() as { data: { uuid: string } }
  t.not(again.data.uuid, firstMounts[0]?.id, 'a mount enabled anew shares nothing')
  t.equal((await server.ask('GET', '/v1/kv/a', undefined, own.client_token)).status, 403)
  t.ok(await logIn(server, 'ldap', 'ada'))
})

t.test('the secret of a token goes with it', async (t) => {
  const { server, asRoot } = await begun(t)
  const { accessor } = await logIn(server, 'ldap', 'ada')
  const secret = () => server.machine.reader().get(sealedItems, ['.logins', `${accessor}/renewal`])
  t.not(secret(), undefined)
  t.equal((await asRoot('DELETE', `/v1/acl/token/${accessor}`)).status, 200)
  t.equal(secret(), undefined)
})

t.test(
  'however many tokens a mount issued, all are refused in the entry that ends it',
  async (t) => {
    const { server, asRoot } = await begun(t)
    const tokens: Auth['auth'][] = []
    for (let number = 0; number < 700; number += 1) {
      tokens.push(await logIn(server, 'ldap', `user-${number}`))
    }
    t.equal((await asRoot('DELETE', '/v1/sys/auth/ldap')).status, 204)
    let refused = 0
    for (const { client_token } of tokens) {
      const answer = await server.ask('GET', '/v1/auth/token/lookup-self', undefined, client_token)
      if (answer.status === 403) refused += 1
    }
    t.equal(refused, tokens.length)

    const duty = server.startDuty('cascades')
    t.teardown(() => duty.stop())
    await eventuallyTrue('rows of tokens and their secrets are gone', async () => {
      const reader = server.machine.reader()
      return tokens.every(
        ({ accessor }) => reader.get(sealedItems, ['.logins', `${accessor}/renewal`]) === undefined,
      )
    })
  },
)

t.test('no answer below auth and sys is for a cache, whatever its status', async (t) => {
  const { server, asRoot } = await begun(t)
  const rows: readonly (readonly [method: string, url: string, status: number, body?: unknown])[] =
    [
      ['GET', '/v1/sys/auth', 200],
      ['GET', '/v1/sys/health', 200],
      ['POST', '/v1/sys/auth/x', 204, { type: 'ldap' }],
      ['POST', '/v1/sys/auth/x', 400, { type: 'ldap' }],
      ['POST', '/v1/auth/token/create', 400, { ttl: 'long' }],
      ['GET', '/v1/auth/none/config', 404],
      ['GET', '/v1/auth/token/none', 404],
      ['GET', '/v1/sys/auth/none', 404],
      ['PATCH', '/v1/sys/auth', 405],
      ['DELETE', '/v1/auth/ldap/login/ada', 405],
      ['PATCH', '/v1/auth/token/create', 405],
      ['POST', '/v1/auth/token/create', 413, { display_name: 'x'.repeat(70_000) }],
      ['GET', '/v1/sys/mounts', 501],
    ]
  for (const [method, url, status, body] of rows) {
    const answer = await asRoot(method, url, body)
    t.same(
      [answer.status, answer.headers['cache-control']],
      [status, 'no-store'],
      `${method} ${url}`,
    )
  }
  const refused = await server.ask('GET', '/v1/sys/auth')
  t.same([refused.status, refused.headers['cache-control']], [403, 'no-store'])
  const login = await server.ask('POST', '/v1/auth/ldap/login/ada', { password: 'wrong' })
  t.same([login.status, login.headers['cache-control']], [403, 'no-store'])
  t.equal((await asRoot('GET', '/v1/kv/x')).headers['cache-control'], undefined)
})

t.test(
  'paths of thousands of segments and slashes lie below their mount, or below none',
  async (t) => {
    const { asRoot } = await begun(t)
    await asRoot('POST', '/v1/sys/auth/a/a', { type: 'ldap' })
    const below = async (path: string) =>
      (await asRoot('POST', `/v1/auth/${path}`, { password: 'xx' })).status
    t.equal(await below('a/a/login/x'), 200)
    t.equal(await below(`a/a/login/x${'/'.repeat(8_000)}`), 200)
    const many = '/b'.repeat(6_000)
    for (const path of [many, `a/a${many}`, `${'/'.repeat(12_000)}a/`]) {
      t.equal(await below(path), 404)
    }
  },
)

t.test('a write where nothing is mounted is told so', async (t) => {
  const { asRoot } = await begun(t)
  for (const method of ['POST', 'PUT']) {
    const nowhere = await asRoot(method, '/v1/auth/none/login/ada', {})
    t.equal(nowhere.status, 404)
    t.match(nowhere.json(), { errors: [/no login method is mounted/] })
    const below = await asRoot(method, '/v1/auth/ldap/nothing', {})
    t.equal(below.status, 404)
    t.match(below.json(), { errors: [/ldap\/ has no such path/] })
  }
  for (const method of ['GET', 'LIST', 'DELETE']) {
    const absent = await asRoot(method, '/v1/auth/none/login/ada')
    t.same([absent.status, absent.body], [404, '{"errors":[]}'], method)
  }
})
