/** Logging in over HTTP against a real slapd: token, policies, renewal, refusals; nothing tells one failure from another. */
import t, { type Test } from 'tap'
import fc from '../../support/fast-check.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import {
  group,
  person,
  personDn,
  serviceDn,
  servicePassword,
  slapdIsThere,
  startSlapd,
  type Slapd,
} from '../../support/slapd.ts'
import { serverOfOne, type Answer } from '../server-of-one.ts'

const ldif = [
  person({ uid: 'Ada', password: 'ada-password' }),
  person({ uid: 'bob', password: 'bob-password' }),
  person({ uid: 'a/b', password: 'slash-password' }),
  group('Engineers', [personDn({ uid: 'Ada' }), personDn({ uid: 'a/b' })]),
  group('rooted', [personDn({ uid: 'bob' })]),
].join('')

type Auth = {
  readonly client_token: string
  readonly accessor: string
  readonly entity_id: string
  readonly policies: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
  readonly lease_duration: number
  readonly renewable: boolean
}

async function begun(t: Test, slapd: Slapd) {
  /** Writes that this server, as a follower, has not heard of until it asks the leader. */
  const unheard: (() => Promise<unknown>)[] = []
  const server = await serverOfOne(t, {
    acl: { enabled: true, defaultPolicy: 'deny' },
    readBarrier: async () => {
      for (const write of unheard.splice(0)) await write()
    },
  })
  const bootstrap = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = bootstrap.json() as { SecretID: string }
  const asRoot = (method: string, url: string, body?: unknown) =>
    server.ask(method, url, body, root)
  const configure = async (body: Record<string, unknown>): Promise<void> => {
    const answer = await asRoot('POST', '/v1/auth/ldap/config', body)
    t.equal(answer.status, 204, answer.body)
  }
  await configure({
    url: slapd.url,
    userdn: 'ou=people,dc=test',
    userattr: 'uid',
    groupdn: 'ou=groups,dc=test',
    binddn: serviceDn,
    bindpass: servicePassword,
    use_token_groups: false,
  })
  await asRoot('POST', '/v1/auth/ldap/groups/engineers', { policies: 'writers' })
  await asRoot('POST', '/v1/auth/ldap/users/ada', { policies: 'Own', groups: 'extra' })
  await asRoot('POST', '/v1/auth/ldap/groups/extra', { policies: 'more' })
  const rules = 'key_prefix "" { policy = "write" }'
  const policy = await asRoot('PUT', '/v1/acl/policy/writers', { Rules: rules })
  t.equal(policy.status, 200, policy.body)
  const login = (name: string, body: unknown = {}, path = 'ldap'): Promise<Answer> =>
    server.ask('POST', `/v1/auth/${path}/login/${encodeURIComponent(name)}`, body)
  const loggedIn = async (name: string, password: string): Promise<Auth> => {
    const answer = await login(name, { password })
    t.equal(answer.status, 200, answer.body)
    return (answer.json() as { auth: Auth }).auth
  }
  return { server, root, asRoot, configure, login, loggedIn, unheard }
}

t.test('logins', { skip: !slapdIsThere(t) && 'no slapd' }, async (t) => {
  const slapd = await startSlapd(t, { ldif })

  await t.test('the answer is the envelope, and the token is good for keys', async (t) => {
    const { server, login } = await begun(t, slapd)
    const answer = await login('Ada', { password: 'ada-password' })
    t.equal(answer.status, 200)
    t.equal(answer.headers['cache-control'], 'no-store')
    const body = answer.json() as Record<string, unknown> & { auth: Auth }
    t.same(Object.keys(body).toSorted(), [
      'auth',
      'data',
      'lease_duration',
      'lease_id',
      'renewable',
      'request_id',
      'warnings',
      'wrap_info',
    ])
    const { auth, ...rest } = body
    t.match(rest, { data: null, lease_id: '', renewable: false, lease_duration: 0, warnings: null })
    t.match(auth, {
      policies: ['default', 'more', 'own', 'writers'],
      metadata: { username: 'Ada' },
      lease_duration: 768 * 3_600,
      renewable: true,
    })
    const key = await server.ask('PUT', '/v1/kv/a', 'text', auth.client_token)
    t.equal(key.status, 200, key.body)
  })

  await t.test('a person is one entity, whatever the settings call it', async (t) => {
    const { asRoot, configure, loggedIn } = await begun(t, slapd)
    const { entity_id: ada } = await loggedIn('Ada', 'ada-password')
    t.match(ada, /^[0-9a-f-]{36}$/)
    for (const change of [
      { username_as_alias: true },
      { case_sensitive_names: true },
      { userattr: 'cn' },
      { username_as_alias: false },
      { case_sensitive_names: false },
      { username_as_alias: true },
    ]) {
      await configure(change)
      t.equal((await loggedIn('Ada', 'ada-password')).entity_id, ada, JSON.stringify(change))
    }
    const url = `/v1/identity/entity/id/${ada}`
    const { data } = (await asRoot('GET', url)).json() as {
      data: { aliases: readonly { rule: string }[] }
    }
    t.same(data.aliases.map(({ rule }) => rule).toSorted(), [
      'attribute:cn',
      'attribute:cn:exact',
      'attribute:uid',
      'dn',
      'username',
      'username:exact',
    ])
    t.equal((await asRoot('DELETE', '/v1/sys/auth/ldap')).status, 204)
    t.match((await asRoot('GET', url)).json(), { data: { id: ada, aliases: [] } })
  })

  await t.test('a name with a slash is one name', async (t) => {
    const { server, loggedIn } = await begun(t, slapd)
    const auth = await loggedIn('a/b', 'slash-password')
    t.match(auth, { metadata: { username: 'a/b' } })
    const body = { password: 'slash-password' }
    const raw = await server.ask('POST', '/v1/auth/ldap/login/a/b', body, 'no-such-token')
    t.equal(raw.status, 200, 'a token that comes along is not looked at')
  })

  await t.test('all failures have one status and one text', async (t) => {
    const { login, configure } = await begun(t, slapd)
    const texts = new Set<string>()
    const fails = async (name: string, password: string): Promise<void> => {
      const answer = await login(name, { password })
      t.equal(answer.status, 400, name)
      texts.add(answer.body)
      t.notMatch(answer.body, /password-|cn=|uid=/)
    }
    await fails('Ada', 'wrong')
    await fails('nobody', 'ada-password')
    await fails('*', 'ada-password')
    await configure({ bindpass: 'wrong' })
    await fails('Ada', 'ada-password')
    await configure({ bindpass: servicePassword, groupdn: 'ou=nowhere,dc=test' })
    await fails('Ada', 'ada-password')
    await configure({ url: 'ldap://127.0.0.1:1' })
    await fails('Ada', 'ada-password')
    t.equal(texts.size, 1, [...texts].join('\n'))
  })

  await t.test('an empty password is refused, and by the directory where it may ask', async (t) => {
    const { login, configure } = await begun(t, slapd)
    for (const body of [{}, { password: '' }, { password: null }]) {
      t.equal((await login('Ada', body)).status, 400)
    }
    await configure({ deny_null_bind: false })
    t.equal((await login('Ada', {})).status, 400)
  })

  await t.test('networks, token parameters and the policy root', async (t) => {
    const { login, configure, loggedIn, asRoot } = await begun(t, slapd)
    await configure({ token_ttl: '1h', token_policies: 'every', token_no_default_policy: true })
    t.match(await loggedIn('Ada', 'ada-password'), {
      policies: ['every', 'more', 'own', 'writers'],
      lease_duration: 3_600,
    })
    await asRoot('POST', '/v1/auth/ldap/groups/rooted', { policies: 'root' })
    t.equal((await login('bob', { password: 'bob-password' })).status, 400)
    await configure({ token_bound_cidrs: '10.0.0.0/8', url: 'ldap://127.0.0.1:1' })
    t.equal((await login('Ada', { password: 'ada-password' })).status, 403)
  })

  await t.test('a login is by what the leader knows, as is its explanation', async (t) => {
    const { asRoot, configure, login, unheard } = await begun(t, slapd)
    const body = { password: 'ada-password' }
    unheard.push(() => asRoot('DELETE', '/v1/auth/ldap/users/ada'))
    t.match((await login('Ada', body)).json(), { auth: { policies: ['default', 'writers'] } })
    unheard.push(() => configure({ token_bound_cidrs: '10.0.0.0/8' }))
    t.equal((await login('Ada', body)).status, 403)
    unheard.push(() => configure({ token_bound_cidrs: '' }))
    const explained = await asRoot('POST', '/v1/sys/auth/ldap/explain', {
      username: 'Ada',
      ...body,
    })
    t.match(explained.json(), { data: { allowed: true } })
    unheard.push(() => asRoot('DELETE', '/v1/sys/auth/ldap'))
    t.equal((await login('Ada', body)).status, 404)
    const enable = () => asRoot('POST', '/v1/sys/auth/ldap', { type: 'ldap' })
    await enable()
    unheard.push(
      () => asRoot('DELETE', '/v1/sys/auth/ldap'),
      enable,
      () => configure({ token_bound_cidrs: '10.0.0.0/8' }),
    )
    t.equal((await login('Ada', body)).status, 403, 'by the mount that took its place')
  })

  await t.test('a user without groups is warned', async (t) => {
    const { login, configure } = await begun(t, slapd)
    await configure({ groupdn: '' })
    const answer = await login('bob', { password: 'bob-password' })
    t.match(answer.json(), { warnings: [/LDAP groups/], auth: { policies: ['default'] } })
  })

  await t.test('a renewal logs in again, by the present configuration', async (t) => {
    const { server, loggedIn, asRoot, configure } = await begun(t, slapd)
    await configure({ token_ttl: '1h' })
    const { client_token: token } = await loggedIn('Ada', 'ada-password')
    const renew = () => server.ask('POST', '/v1/auth/token/renew-self', {}, token)
    const lookUp = () => server.ask('GET', '/v1/auth/token/lookup-self', undefined, token)
    await configure({ token_ttl: '2h' })
    const renewed = await renew()
    t.equal(renewed.status, 200, renewed.body)
    t.match(renewed.json(), { auth: { lease_duration: 7_200 } })
    await asRoot('POST', '/v1/auth/ldap/groups/engineers', { policies: 'writers,another' })
    t.equal((await renew()).status, 400)
    await asRoot('POST', '/v1/auth/ldap/groups/engineers', { policies: 'writers' })
    t.equal((await renew()).status, 200)
    await configure({ url: 'ldap://127.0.0.1:1' })
    t.equal((await renew()).status, 400)
    t.equal((await lookUp()).status, 200, 'the token stays as it is')
    await server.ask('POST', '/v1/auth/token/revoke-self', {}, token)
    t.equal((await lookUp()).status, 403)
  })

  await t.test('a name that fails too often is locked, but not by a dead directory', async (t) => {
    const { login, configure, loggedIn } = await begun(t, slapd)
    await configure({ url: 'ldap://127.0.0.1:1' })
    for (let failure = 0; failure < 6; failure += 1) {
      t.equal((await login('bob', { password: 'bob-password' })).status, 400)
    }
    await configure({ url: slapd.url, bindpass: 'wrong' })
    t.equal((await login('bob', { password: 'bob-password' })).status, 400)
    await configure({ bindpass: servicePassword })
    await loggedIn('bob', 'bob-password')
    for (let failure = 0; failure < 5; failure += 1) {
      const name = ['bob', 'BOB', 'ｂｏｂ', 'bo\u00adb', ' bob'][failure] ?? ''
      t.equal((await login(name, { password: 'x' })).status, 400)
    }
    const locked = await login('bob', { password: 'bob-password' })
    const wrong = await login('nobody', { password: 'x' })
    const told = (answer: Answer) => {
      const { date: _date, 'x-request-id': _id, ...headers } = answer.headers
      return [answer.status, answer.body, headers]
    }
    t.same(told(locked), told(wrong), 'a locked name is told what every other one is')
    const empty = (name: string) => login(name, { password: '' })
    t.same(told(await empty('bob')), told(await empty('nobody')))
    await loggedIn('Ada', 'ada-password')
  })

  await t.test('disabling the mount ends its tokens and forgets everything', async (t) => {
    const { server, loggedIn, asRoot } = await begun(t, slapd)
    const { client_token: token } = await loggedIn('Ada', 'ada-password')
    t.equal((await asRoot('DELETE', '/v1/sys/auth/ldap')).status, 204)
    await eventuallyTrue('the token is refused', async () => {
      const answer = await server.ask('PUT', '/v1/kv/a', 'text', token)
      return answer.status === 403
    })
    t.equal((await asRoot('GET', '/v1/auth/ldap/config')).status, 404)
  })

  await t.test('whatever name is sent, nobody who is not there gets in', async (t) => {
    const { login } = await begun(t, slapd)
    const statuses = new Set<number>()
    // In a URL these two are no names: its sender resolves them.
    const names = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((name) => !/^[.]{1,2}$/.test(name))
    for (const name of fc.sample(names, 100)) {
      const answer = await login(name, { password: 'ada-password' })
      statuses.add(answer.status)
    }
    t.same([...statuses], [400])
  })
})
