/** The configuration and the local mappings of a directory mount, over HTTP. */
import t, { type Test } from 'tap'
import { anyPageSizeVersion, defaultConfig } from '../../../src/domains/ldap/model.ts'
import { commandVersion } from '../../../src/fsm/codec.ts'
import { Authority } from '../../support/certificates.ts'
import { serverOfOne, type Answer } from '../server-of-one.ts'

async function begun(t: Test, version = commandVersion) {
  const server = await serverOfOne(t, { commandVersion: version })
  const config = async (): Promise<Record<string, unknown>> => {
    const answer = await server.ask('GET', '/v1/auth/ldap/config')
    t.equal(answer.status, 200)
    return (answer.json() as { data: Record<string, unknown> }).data
  }
  const write = (body: unknown, path = 'ldap'): Promise<Answer> =>
    server.ask('POST', `/v1/auth/${path}/config`, body)
  return { server, config, write }
}

t.test('before any write the defaults are read', async (t) => {
  const { server, config } = await begun(t)
  const data = await config()
  t.match(data, {
    url: 'ldap://127.0.0.1',
    userattr: 'cn',
    tls_min_version: 'tls12',
    tls_max_version: 'tls12',
    deny_null_bind: true,
    connection_timeout: 30,
    request_timeout: 90,
    dereference_aliases: 'never',
    max_page_size: 0,
    use_token_groups: true,
    bindpass: '',
    token_ttl: 0,
    token_num_uses: 0,
    token_policies: [],
    token_bound_cidrs: [],
  })
  t.notOk('client_tls_key' in data)
  const login = await server.ask('POST', '/v1/auth/ldap/login/ada', { password: 'x' })
  t.equal(login.status, 400, 'and nobody logs in')
})

t.test('a write changes what it names, and shows no secret', async (t) => {
  const { config, write } = await begun(t)
  const first = {
    url: 'LDAP://A.test, ldaps://b.test:1636',
    binddn: 'cn=service',
    bindpass: 'geheim-4711',
    userattr: 'sAMAccountName',
    groupattr: 'memberOf',
    connection_timeout: '1m30s',
    request_timeout: '7',
    max_page_size: '50',
    starttls: 'true',
    use_token_groups: 0,
    policies: 'old',
    token_policies: 'ops, dev',
    token_ttl: '1h',
    token_bound_cidrs: ['127.0.0.0/8'],
  }
  t.equal((await write(first)).status, 204)
  t.match(await config(), {
    url: 'ldap://a.test, ldaps://b.test:1636',
    binddn: 'cn=service',
    bindpass: '',
    userattr: 'samaccountname',
    groupattr: 'memberOf',
    connection_timeout: 90,
    request_timeout: 7,
    max_page_size: 50,
    starttls: true,
    use_token_groups: false,
    token_policies: ['ops', 'dev'],
    token_ttl: 3_600,
    token_bound_cidrs: ['127.0.0.0/8'],
  })
  t.equal((await write({ binddn: '', policies: ['new'], unknown: 1 })).status, 204)
  t.match(await config(), { binddn: '', groupattr: 'memberOf', token_policies: ['new'] })
  t.equal((await write({})).status, 204)
  t.notMatch(JSON.stringify(await config()), /geheim/)
})

t.test('what does not fit is refused whole, also against what is stored', async (t) => {
  const { server, config, write } = await begun(t)
  const authority = await Authority.create()
  const { cert, key } = await authority.issue()
  const other = await authority.issue()
  const rows: readonly Record<string, unknown>[] = [
    { tls_min_version: 'tls14' },
    { tls_min_version: 'TLS12' },
    { tls_max_version: '' },
    { tls_min_version: 'tls13' },
    { tls_max_version: 'tls11' },
    { certificate: 'nonsense' },
    { certificate: key },
    { certificate: cert.replace('MII', 'XXX') },
    { client_tls_cert: cert },
    { client_tls_key: key },
    { client_tls_cert: cert, client_tls_key: other.key },
    { client_tls_cert: cert, client_tls_key: 'nonsense' },
    { userfilter: '({{.Nobody}}=x)' },
    { groupfilter: '(member={{.UserDN}' },
    { dereference_aliases: 'sometimes' },
    { dereference_aliases: '' },
    { token_ttl: 20, token_max_ttl: 10 },
    { token_ttl: -1 },
    { token_num_uses: -1 },
    { max_page_size: 100_001 },
    { connection_timeout: 1.5 },
    { starttls: 'perhaps' },
    { binddn: ['a'] },
    { binddn: 'a\0b' },
    { token_type: 'default-service' },
    { token_type: 'batch', token_period: 10 },
    { token_type: 'batch', token_num_uses: 1 },
    { token_bound_cidrs: '10.0.0.0/33' },
    { rotation_period: 9 },
    { rotation_period: 3_600, rotation_schedule: '0 0 * * *' },
    { rotation_period: 3_600, rotation_window: 3_600 },
    { rotation_window: 3_599 },
    { rotation_schedule: '0 0 * *' },
    { url: 'x'.repeat(5_000) },
  ]
  for (const row of rows) {
    const answer = await write({ userdn: 'dc=not-stored', ...row })
    t.equal(answer.status, 400, JSON.stringify(row).slice(0, 80))
  }
  for (const [row, text] of [
    [{ token_ttl: 2 ** 31 }, 'token_ttl must be from 0 to 315360000 seconds (87600h)'],
    [{ token_period: '87601h' }, 'token_period must be from 0 to 315360000 seconds (87600h)'],
    [{ token_num_uses: -1 }, 'token_num_uses must not be negative'],
    [{ policies: 'a,'.repeat(257) }, 'policies may hold at most 64 policies'],
    [
      { token_bound_cidrs: ['house'] },
      'token_bound_cidrs must hold networks such as 10.0.0.0/8, not "house"',
    ],
  ] as const) {
    t.same((await write(row)).json(), { errors: [text] })
  }
  t.equal((await config())['userdn'], '')
  t.equal((await server.ask('POST', '/v1/auth/ldap/config', [])).status, 400)
  t.equal((await write({ token_max_ttl: 10 })).status, 204)
  t.equal((await write({ token_ttl: 20 })).status, 400)
  t.equal((await write({ client_tls_cert: cert, client_tls_key: key })).status, 204)
  t.equal((await write({ client_tls_key: '' })).status, 400)
  t.equal((await write({ client_tls_cert: '', client_tls_key: '' })).status, 204)
  t.equal((await write({ tls_max_version: 'tls13' })).status, 204)
  t.equal((await write({ tls_min_version: 'tls13' })).status, 204)
  t.equal((await write({ tls_max_version: 'tls12' })).status, 400)
})

t.test('a user filter without the attribute is warned of, at each read as well', async (t) => {
  const { server, write } = await begun(t)
  const answer = await write({ userfilter: '(mail={{.Username}})' })
  t.equal(answer.status, 200)
  t.match(answer.json(), { warnings: [/userfilter/], data: null })
  t.match((await server.ask('GET', '/v1/auth/ldap/config')).json(), { warnings: [/userfilter/] })
  t.equal((await write({ userattr: 'mail' })).status, 204)
  t.match((await server.ask('GET', '/v1/auth/ldap/config')).json(), { warnings: null })
})

t.test('users and groups are mapped, listed and deleted', async (t) => {
  const { server, write } = await begun(t)
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await server.ask(method, `/v1/auth/ldap/${path}`, body)
    return answer.status === 200 ? (answer.json() as { data: unknown }).data : answer.status
  }
  t.equal(await ask('LIST', 'groups'), 404)
  t.equal(await ask('LIST', 'users'), 404)
  t.equal(await ask('POST', 'groups/Engineers', { policies: ' Ops,dev,,ops' }), 204)
  t.same(await ask('GET', 'groups/engineers'), { policies: ['dev', 'ops'] })
  t.equal(await ask('PUT', 'groups/a/b c,d%25', { policies: ['x'] }), 204)
  t.same(await ask('LIST', 'groups'), { keys: ['a/b c,d%', 'engineers'] })
  t.same(await ask('GET', 'groups?list=true'), { keys: ['a/b c,d%', 'engineers'] })
  t.equal(await ask('POST', 'users/Ada', { groups: 'Z,a,,A', policies: 'p' }), 204)
  t.same(await ask('GET', 'users/ADA'), { groups: 'a,z', policies: ['p'] })
  t.equal(await ask('POST', 'users/ada', { policies: 'q' }), 204)
  t.same(await ask('GET', 'users/ada'), { groups: '', policies: ['q'] })
  t.equal(await ask('DELETE', 'users/ADA'), 204)
  t.equal(await ask('DELETE', 'users/ADA'), 204)
  t.equal(await ask('GET', 'users/ada'), 404)
  t.equal(await ask('POST', 'users/%20Ada', { policies: 'p' }), 204)
  t.same(await ask('GET', `users/${encodeURIComponent('ａｄａ')}`), { groups: '', policies: ['p'] })
  t.equal(await ask('DELETE', 'users/ada'), 204)
  t.equal(await ask('GET', 'users/%20Ada'), 404)
  t.equal(await ask('DELETE', 'groups/ENGINEERS'), 204)
  t.same(await ask('LIST', 'groups/'), { keys: ['a/b c,d%'] })
  t.equal(await ask('POST', `groups/${'x'.repeat(600)}`, {}), 400)
  // In lower case it has 1,024 characters.
  const long = encodeURIComponent('İ'.repeat(512))
  for (const path of [`groups/${long}`, `users/${long}`]) {
    t.equal(await ask('POST', path, {}), 400)
    t.equal(await ask('DELETE', path), 400)
    t.equal(await ask('GET', path), 404)
  }
  t.equal(await ask('POST', 'users/bob', { groups: 'İ'.repeat(512) }), 400)
  for (const path of ['groups/bobs', 'users/bob']) {
    t.equal(await ask('POST', path, { policies: 'İ'.repeat(128) }), 400)
  }
  t.equal((await write({ token_policies: ['İ'.repeat(128)] })).status, 400)
  t.equal(await ask('POST', 'groups/a%00b', {}), 400)
  t.equal(await ask('GET', 'users/%ff'), 400)
  t.equal(await ask('DELETE', 'config'), 405)
  t.equal(await ask('GET', 'login/ada'), 405)
  t.equal(await ask('GET', 'nothing'), 404)

  t.equal(await ask('POST', 'groups/OU=Team%20One,DC=Test', { policies: 'p' }), 204)
  t.same(await ask('GET', 'groups/ou=team  one, dc=test'.replaceAll(' ', '%20')), {
    policies: ['p'],
  })
  t.equal((await write({ case_sensitive_names: true })).status, 204)
  t.equal(await ask('POST', 'users/Ada', { policies: 'p' }), 204)
  t.equal(await ask('GET', 'users/ada'), 404)
  t.same(await ask('GET', 'users/Ada'), { groups: '', policies: ['p'] })
})

t.test(
  'a user of an earlier version is found, written and deleted by its own spelling',
  async (t) => {
    const { server } = await begun(t)
    const url = `/v1/auth/ldap/users/${encodeURIComponent(' Ada')}`
    const args = { mountId: 'first-ldap', key: ' ada', name: ' ada', policies: ['old'], groups: [] }
    await server.propose({ type: 'ldap.putUser', args })
    const data = async () => ((await server.ask('GET', url)).json() as { data?: unknown }).data
    t.match(await data(), { policies: ['old'] })
    t.equal((await server.ask('POST', url, { policies: 'new' })).status, 204)
    t.match(await data(), { policies: ['new'] })
    t.match((await server.ask('LIST', '/v1/auth/ldap/users')).json(), { data: { keys: ['ada'] } })
    t.equal((await server.ask('DELETE', url)).status, 204)
    t.equal((await server.ask('LIST', '/v1/auth/ldap/users')).status, 404)
  },
)

t.test('mounts share nothing, and one that is enabled anew knows nothing', async (t) => {
  const { server, config, write } = await begun(t)
  t.equal((await server.ask('POST', '/v1/sys/auth/team/eu', { type: 'ldap' })).status, 204)
  t.equal((await write({ userdn: 'dc=eu', bindpass: 'x' }, 'team/eu')).status, 204)
  await server.ask('POST', '/v1/auth/team/eu/users/ada', { policies: 'p' })
  await server.ask('POST', '/v1/auth/team/eu/groups/g', { policies: 'p' })
  t.equal((await config())['userdn'], defaultConfig.userdn)
  t.equal((await server.ask('LIST', '/v1/auth/ldap/users')).status, 404)
  t.equal((await server.ask('LIST', '/v1/auth/team/eu/users')).status, 200)
  t.equal((await server.ask('DELETE', '/v1/sys/auth/team/eu')).status, 204)
  t.equal((await server.ask('GET', '/v1/auth/team/eu/config')).status, 404)
  t.equal((await server.ask('POST', '/v1/sys/auth/team/eu', { type: 'ldap' })).status, 204)
  const read = await server.ask('GET', '/v1/auth/team/eu/config')
  t.match(read.json(), { data: { userdn: '' } })
  t.equal((await server.ask('LIST', '/v1/auth/team/eu/users')).status, 404)
  t.equal((await server.ask('LIST', '/v1/auth/team/eu/groups')).status, 404)
})

t.test('a rule holds a user or a group back in every spelling', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true }, begin: false })
  const { SecretID: root } = (await server.ask('PUT', '/v1/acl/bootstrap')).json() as {
    SecretID: string
  }
  const Rules = `
    auth "ldap/users/*" { policy = "write" }
    auth "ldap/users/boss" { policy = "deny" }
    auth "ldap/groups/*" { policy = "write" }
    auth "ldap/groups/admins" { policy = "deny" }
    auth "ldap/groups/cn=admins,dc=test" { policy = "deny" }`
  t.equal((await server.ask('PUT', '/v1/acl/policy/p', { Rules }, root)).status, 200)
  const made = await server.ask('PUT', '/v1/acl/token', { Policies: ['p'] }, root)
  const { SecretID: token } = made.json() as { SecretID: string }
  const ask = async (method: string, path: string) => {
    const url = `/v1/auth/ldap/${path.split('/').map(encodeURIComponent).join('/')}`
    return (await server.ask(method, url, method === 'POST' ? { policies: 'p' } : undefined, token))
      .status
  }
  const held = [
    ...['boss', 'Boss', ' boss', 'ｂｏｓｓ', 'bo\u00adss'].map((name) => `users/${name}`),
    ...['admins', 'Admins', 'CN=Admins, DC=test'].map((name) => `groups/${name}`),
  ]
  for (const path of held) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      t.equal(await ask(method, path), 403, `${method} ${path}`)
    }
  }
  t.equal(await ask('POST', 'users/Ada'), 204)
  t.equal(await ask('GET', 'users/ada'), 200)
  t.equal(await ask('POST', 'groups/CN=Users, DC=test'), 204)
  t.equal(await ask('DELETE', 'groups/cn=users,dc=test'), 204)
  t.equal(await ask('DELETE', 'users/ADA'), 204)
})

t.test('a size of pages that is not above 0 is kept as it was written', async (t) => {
  const { server, config, write } = await begun(t, anyPageSizeVersion - 1)
  t.equal((await write({ max_page_size: -1 })).status, 204)
  t.equal((await config())['max_page_size'], 0, 'servers of older versions know none below 0')
  await server.propose({ type: 'state.raiseVersion', args: { version: anyPageSizeVersion } })
  for (const size of [-1, '-7', 0]) {
    t.equal((await write({ max_page_size: size })).status, 204)
    t.equal((await config())['max_page_size'], Number(size))
  }
})
