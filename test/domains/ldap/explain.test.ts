/** A login by a directory as an operator has it explained, against a real slapd. */
import t, { type Test } from 'tap'
import {
  group,
  person,
  personDn,
  serviceDn,
  servicePassword,
  slapdIsThere,
  startSlapd,
} from '../../support/slapd.ts'
import { serverOfOne } from '../server-of-one.ts'

const url = '/v1/sys/auth/ldap/explain'
const password = 'ada-password'

type Explained = {
  readonly data: {
    readonly steps: readonly {
      readonly step: string
      readonly passed: boolean
      readonly url: string
      readonly name?: string
      readonly filter?: string
      readonly entries: number | null
    }[]
  }
}

async function begun(t: Test) {
  const slapd = await startSlapd(t, {
    ldif: [
      person({ uid: 'ada', password }),
      group('Engineers', [personDn({ uid: 'ada' })]),
      group('rooted', [personDn({ uid: 'ada' })]),
    ].join(''),
  })
  const server = await serverOfOne(t, { acl: { enabled: true, defaultPolicy: 'deny' } })
  const bootstrap = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = bootstrap.json() as { SecretID: string }
  const asRoot = (method: string, path: string, body?: unknown) =>
    server.ask(method, path, body, root)
  const configure = async (body: Record<string, unknown> = {}): Promise<void> => {
    const answer = await asRoot('POST', '/v1/auth/ldap/config', {
      url: slapd.url,
      userdn: 'ou=people,dc=test',
      userattr: 'uid',
      groupdn: 'ou=groups,dc=test',
      binddn: serviceDn,
      bindpass: servicePassword,
      use_token_groups: false,
      ...body,
    })
    t.equal(answer.status, 204, answer.body)
  }
  await configure()
  const explain = async (body: Record<string, unknown>) => {
    const answer = await asRoot('POST', url, { username: 'ada', ...body })
    t.equal(answer.status, 200, answer.body)
    for (const secret of [password, servicePassword, 'wrong-password']) {
      t.notOk(answer.body.includes(secret), 'no password is shown')
    }
    return answer.json() as Explained
  }
  return { slapd, server, asRoot, configure, explain }
}

const told = ({ data }: Explained) => data.steps.map(({ step, passed }) => `${step} ${passed}`)

void t.test(
  'each request to the directory, the groups, and where policies come from',
  async (t) => {
    if (!slapdIsThere(t)) return
    const { slapd, asRoot, configure, explain } = await begun(t)
    await configure({ token_policies: 'all' })
    await asRoot('POST', '/v1/auth/ldap/groups/engineers', { policies: 'writers' })
    await asRoot('POST', '/v1/auth/ldap/users/ada', { policies: 'own' })
    const found = await explain({ password })
    t.match(found, {
      data: {
        allowed: true,
        refused_by: null,
        bind_tried: true,
        locked_until: null,
        user_dn: personDn({ uid: 'ada' }),
        alias: 'ada',
        groups: ['Engineers', 'rooted'],
        mappings: [
          { from: 'group', name: 'engineers', policies: ['writers'] },
          { from: 'user', name: 'ada', policies: ['own'] },
        ],
        configured_policies: ['all'],
        policies: ['all', 'default', 'own', 'writers'],
      },
      auth: null,
    })
    t.same(told(found), [
      'connect true',
      'bind true',
      'search true',
      'connect true',
      'bind true',
      'search true',
    ])
    const [, service, user, , bind, groups] = found.data.steps
    t.match(service, { name: serviceDn, url: slapd.url })
    t.match(user, { filter: '(uid=ada)', entries: 1 })
    t.match(bind, { name: personDn({ uid: 'ada' }) })
    t.match(groups, { filter: /member=uid=ada,ou=people,dc=test/, entries: 2 })
  },
)

void t.test('what refused, and how far it came', async (t) => {
  if (!slapdIsThere(t)) return
  const { asRoot, configure, explain } = await begun(t)
  const wrong = await explain({ password: 'wrong-password' })
  t.match(wrong, {
    data: {
      allowed: false,
      refused_by: 'user',
      reason: 'result code 49 (InvalidCredentials)',
      user_dn: null,
    },
  })
  t.same(told(wrong).at(-1), 'bind false')
  t.match(await explain({ username: 'nobody', password }), { data: { refused_by: 'user' } })
  t.match(await explain({ password: '' }), {
    data: { refused_by: 'empty password', bind_tried: false, steps: [] },
  })
  await asRoot('POST', '/v1/auth/ldap/groups/rooted', { policies: 'root' })
  t.match(await explain({ password }), { data: { allowed: false, refused_by: 'policies' } })
  await configure({ url: 'ldap://127.0.0.1:1' })
  const unreachable = await explain({ password })
  t.match(unreachable, { data: { refused_by: 'unreachable' } })
  t.same(told(unreachable), ['connect false'])
  await configure({ token_bound_cidrs: '10.0.0.0/8' })
  t.match(await explain({ password }), { data: { refused_by: 'address', steps: [] } })
  const looked = await explain({})
  t.match(looked, { data: { refused_by: 'address', user_dn: personDn({ uid: 'ada' }) } })
})

void t.test('without a password the service account looks, and nothing is proved', async (t) => {
  if (!slapdIsThere(t)) return
  const { explain } = await begun(t)
  const found = await explain({})
  t.match(found, {
    data: { allowed: false, refused_by: null, bind_tried: false, groups: ['Engineers', 'rooted'] },
  })
  t.same(told(found), ['connect true', 'bind true', 'search true', 'search true'])
})

void t.test('wrong passwords count, and a locked name is not tried', async (t) => {
  if (!slapdIsThere(t)) return
  const { asRoot, explain } = await begun(t)
  const tuned = await asRoot('POST', '/v1/sys/auth/ldap/tune', {
    user_lockout_config: { lockout_threshold: 2 },
  })
  t.equal(tuned.status, 204, tuned.body)
  await explain({ password: 'wrong-password' })
  await explain({ password: 'wrong-password' })
  t.match(await explain({ password }), {
    data: { allowed: false, refused_by: 'lockout', bind_tried: false, steps: [] },
  })
  const looked = await explain({})
  t.match(looked, {
    data: { refused_by: null, locked_until: /^\d{4}-.*Z$/, groups: ['Engineers', 'rooted'] },
  })
})

void t.test('it needs acl:read and login:explain, and a configuration', async (t) => {
  if (!slapdIsThere(t)) return
  const { server, asRoot } = await begun(t)
  const tokenWith = async (name: string, rules: string): Promise<string> => {
    await asRoot('PUT', `/v1/acl/policy/${name}`, { Rules: rules })
    const made = await asRoot('PUT', '/v1/acl/token', { Policies: [{ Name: name }] })
    return (made.json() as { readonly SecretID: string }).SecretID
  }
  const asked = async (rules: string, name: string) =>
    (await server.ask('POST', url, { username: 'ada' }, await tokenWith(name, rules))).status
  t.equal(await asked('acl = "read"', 'one'), 403)
  t.equal(await asked('login_prefix "" { policy = "explain" }', 'two'), 403)
  t.equal(await asked('acl = "read"\nlogin "ldap" { policy = "explain" }', 'both'), 200)
  t.equal((await asRoot('POST', url, { username: '' })).status, 400)
  t.same((await asRoot('POST', url, { username: 'x'.repeat(3_000) })).json(), {
    errors: ['username must be a string of at most 512 characters'],
  })
  await asRoot('POST', '/v1/sys/auth/corp', { type: 'ldap' })
  const bare = await asRoot('POST', '/v1/sys/auth/corp/explain', { username: 'ada' })
  t.match(bare, { status: 400, body: /not configured/ })
})
