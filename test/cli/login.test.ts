import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { standIn } from './api-stand-in.ts'
import { run } from './terminal.ts'

const envelope = {
  request_id: 'r',
  lease_id: '',
  renewable: false,
  lease_duration: 0,
  data: null,
  wrap_info: null,
  warnings: null,
  auth: null,
}

const auth = {
  client_token: 'muster-token-1',
  accessor: 'a-1',
  policies: ['default', 'ops'],
  metadata: { username: 'ada' },
  lease_duration: 3_600,
  renewable: true,
}

async function home(test: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-home-'))
  test.teardown(() => rm(folder, { recursive: true }))
  return folder
}

t.test('a person logs in, and later commands use the token', async (t) => {
  const HOME = await home(t)
  const server = await standIn(t, {
    'POST /v1/auth/ldap/login/ada%2Fb': { json: { ...envelope, auth, warnings: ['no groups'] } },
    'GET /v1/auth/token/lookup-self': { json: { ...envelope, data: { ttl: 3_600 } } },
  })
  const env = { HOME, MUSTER_ADDR: server.address }
  const login = ['login', '-method=ldap', 'username=ada/b']
  const typed = await run(login, { env, input: 'secret words', isTerminal: true })
  t.equal(typed.code, 0)
  t.match(typed.out, /^token +│? *= muster-token-1$/m)
  t.match(typed.out, /^policies += default,ops$/m)
  t.match(typed.err, 'Password of ada/b (hidden): ')
  t.match(typed.err, 'Warning: no groups')
  t.notMatch(typed.out + typed.err, 'secret words')
  t.equal(server.asked[0]?.body.trim(), JSON.stringify({ password: 'secret words' }, null, 4))
  t.notOk(server.asked[0]?.headers['x-service-token'], 'a login is asked without a token')

  const stored = join(HOME, '.muster-token')
  t.equal((await stat(stored)).mode & 0o777, 0o600)
  t.equal(await readFile(stored, 'utf8'), 'muster-token-1\n')
  t.equal((await run(['token', 'lookup', '-field=ttl'], { env })).out, '3600')
  t.equal(server.asked[1]?.headers['x-service-token'], 'muster-token-1')
  await run(['token', 'lookup'], { env: { ...env, MUSTER_TOKEN: 'another' } })
  t.equal(server.asked[2]?.headers['x-service-token'], 'another', 'the environment goes first')

  t.equal((await run(['logout'], { env })).code, 0)
  await run(['token', 'lookup'], { env })
  t.notOk(server.asked[3]?.headers['x-service-token'])
  t.equal((await run(['logout'], { env })).code, 0, 'there is none to forget')
})

t.test('the password comes from the environment, and nothing is kept if so asked', async (t) => {
  const HOME = await home(t)
  const server = await standIn(t, {
    'POST /v1/auth/corp/eu/login/ada': { json: { ...envelope, auth } },
  })
  for (const name of ['MUSTER_LDAP_PASSWORD', 'SERVICE_LDAP_PASSWORD', 'VAULT_LDAP_PASSWORD']) {
    const env = { HOME, MUSTER_ADDR: server.address, [name]: 'pw', USER: 'ada' }
    const words = ['login', '-method=ldap', '-path=corp/eu/', '-no-store', '-field=token']
    t.match(await run(words, { env }), { code: 0, out: 'muster-token-1' })
    await t.rejects(stat(join(HOME, '.muster-token')), { code: 'ENOENT' })
  }
  const env = { HOME, MUSTER_ADDR: server.address, USER: 'ada' }
  const asked = await run(['login', '-method=ldap'], { env })
  t.match(asked, { code: 2, err: /there is no terminal to ask/ })
})

t.test('a workload logs in', async (t) => {
  const HOME = await home(t)
  const jwt = join(HOME, 'jwt')
  await writeFile(jwt, 'a.b.c\n')
  const server = await standIn(t, {
    'POST /v1/auth/kubernetes/login': { json: { ...envelope, auth } },
  })
  const env = { HOME, MUSTER_ADDR: server.address }
  const words = ['login', '-method=kubernetes', 'role=web', `jwt=@${jwt}`, '-json', '-no-store']
  const done = await run(words, { env })
  t.equal(done.code, 0)
  t.match(JSON.parse(done.out), { auth: { client_token: 'muster-token-1' } })
  t.same(JSON.parse(server.asked[0]?.body ?? ''), { role: 'web', jwt: 'a.b.c' })
  t.match(await run(['login', '-method=kubernetes', 'jwt=x'], { env }), {
    code: 2,
    err: /role=NAME/,
  })
  t.match(await run(['login', '-method=magic'], { env }), { code: 2, err: /-method is/ })
})

t.test('a token that there is already is tried before it is stored', async (t) => {
  const HOME = await home(t)
  const server = await standIn(t, {
    'GET /v1/auth/token/lookup-self': {
      json: { ...envelope, data: { accessor: 'a-2', policies: ['root'], ttl: 0 } },
    },
  })
  const env = { HOME, MUSTER_ADDR: server.address }
  t.equal((await run(['login', 'mine'], { env })).code, 0)
  t.equal(server.asked[0]?.headers['x-service-token'], 'mine')
  t.equal((await run(['login', '-'], { env, input: 'piped\n' })).code, 0)
  t.equal(await readFile(join(HOME, '.muster-token'), 'utf8'), 'piped\n')
  const refusing = await standIn(t, {
    'GET /v1/auth/token/lookup-self': { status: 403, json: { errors: ['permission denied'] } },
  })
  const wrong = { HOME, MUSTER_ADDR: refusing.address }
  t.match(await run(['login', 'bad'], { env: wrong }), { code: 1, err: /permission denied/ })
  t.equal(await readFile(join(HOME, '.muster-token'), 'utf8'), 'piped\n', 'the one before stays')
})

t.test('any path is read, listed, written and deleted', async (t) => {
  const HOME = await home(t)
  const file = join(HOME, 'role.json')
  await writeFile(file, '{"audience": "a", "token_ttl": 60}')
  const server = await standIn(t, {
    'GET /v1/auth/ldap/config': {
      json: { ...envelope, data: { url: 'ldap://d', userattr: 'cn' } },
    },
    'GET /v1/auth/ldap/users': { json: { ...envelope, data: { keys: ['ada', 'bob'] } } },
    'POST /v1/auth/orchestrator/role/web': { status: 204 },
    'DELETE /v1/auth/ldap/groups/a%20b': { status: 204 },
  })
  const env = { MUSTER_ADDR: server.address }
  t.equal(
    (await run(['read', 'auth/ldap/config'], { env })).out,
    'url      = ldap://d\nuserattr = cn\n',
  )
  t.equal((await run(['read', '-field=url', '/v1/auth/ldap/config'], { env })).out, 'ldap://d')
  t.match(await run(['read', '-field=nix', 'auth/ldap/config'], { env }), {
    code: 1,
    err: /it has url, userattr/,
  })
  t.equal((await run(['list', 'auth/ldap/users'], { env })).out, 'ada\nbob\n')
  t.match(server.asked.at(-1)?.url, 'list=true')
  const words = ['write', 'auth/orchestrator/role/web', `@${file}`, 'token_ttl=90', 'n=a', 'n=b']
  t.match(await run(words, { env }), { code: 0, out: /^Wrote / })
  t.same(JSON.parse(server.asked.at(-1)?.body ?? ''), {
    audience: 'a',
    token_ttl: '90',
    n: ['a', 'b'],
  })
  t.match(await run(['delete', 'auth/ldap/groups/a b'], { env }), { code: 0, out: /^Deleted / })
  t.match(await run(['read', 'nowhere'], { env }), { code: 1, err: /not here/ })
})

t.test('tokens and login methods have commands of their own', async (t) => {
  const server = await standIn(t, {
    'POST /v1/auth/token/create/web': { json: { ...envelope, auth } },
    'POST /v1/auth/token/renew-self': { json: { ...envelope, auth } },
    'POST /v1/auth/token/revoke-accessor': { status: 204 },
    'GET /v1/sys/auth': {
      json: { ...envelope, data: { 'ldap/': { type: 'ldap', accessor: 'x', description: '' } } },
    },
    'POST /v1/sys/auth/corp/eu': { status: 204 },
    'POST /v1/sys/auth/ldap/tune': { status: 204 },
    'DELETE /v1/sys/auth/corp/eu': { status: 204 },
  })
  const env = { MUSTER_ADDR: server.address }
  const bodyOf = () => JSON.parse(server.asked.at(-1)?.body ?? '') as unknown
  const create = ['token', 'create', '-role=web', '-policy=a', '-policy=b', '-ttl=1h', '-orphan']
  t.equal((await run([...create, '-metadata=k=v=w'], { env })).code, 0)
  t.same(bodyOf(), { policies: ['a', 'b'], ttl: '1h', no_parent: true, meta: { k: 'v=w' } })
  t.equal((await run(['token', 'renew', '-increment=10m'], { env })).code, 0)
  t.same(bodyOf(), { increment: '10m' })
  t.equal((await run(['token', 'revoke', '-accessor', 'a-1'], { env })).code, 0)
  t.same(bodyOf(), { accessor: 'a-1' })
  t.match(await run(['token', 'revoke'], { env }), { code: 2, err: /-self/ })
  t.match((await run(['auth', 'list'], { env })).out, /^ldap\/ +ldap +x/m)
  const enable = ['auth', 'enable', '-path=corp/eu', '-max-lease-ttl=24h', 'ldap']
  t.equal((await run(enable, { env })).code, 0)
  t.same(bodyOf(), { type: 'ldap', description: '', config: { max_lease_ttl: '24h' } })
  t.equal((await run(['auth', 'tune', '-description=', 'ldap'], { env })).code, 0)
  t.same(bodyOf(), { description: '' })
  t.equal((await run(['auth', 'disable', 'corp/eu/'], { env })).code, 0)
})

t.test('a login is explained, with a password or without', async (t) => {
  const HOME = await home(t)
  const data = {
    type: 'ldap',
    allowed: false,
    refused_by: 'user',
    reason: 'result code 49 (InvalidCredentials)',
    steps: [
      { step: 'connect', url: 'ldap://d', passed: true, milliseconds: 1, entries: null },
      {
        step: 'search',
        base: 'dc=d',
        filter: '(uid=ada)',
        passed: true,
        milliseconds: 2.5,
        entries: 1,
      },
      {
        step: 'search',
        base: 'dc=d',
        filter: `(|${'(member=cn=g)'.repeat(500)})`,
        passed: true,
        milliseconds: 4,
        entries: 0,
      },
      { step: 'bind', name: 'uid=ada,dc=d', passed: false, milliseconds: 3, failure: 'code 49' },
    ],
    locked_until: '2026-01-01T00:00:00.000Z',
    user_dn: null,
    alias: null,
    groups: [],
    mappings: [{ from: 'group', name: 'ops', policies: ['a', 'b'] }],
    policies: [],
  }
  const server = await standIn(t, {
    'POST /v1/sys/auth/corp/eu/explain': { json: { ...envelope, data } },
    'POST /v1/sys/auth/orchestrator/explain': {
      json: {
        ...envelope,
        data: {
          type: 'orchestrator',
          allowed: true,
          refused_by: null,
          reason: null,
          steps: [],
          service_account: { namespace: 'shop', name: 'till', uid: 'u' },
          review: { url: 'https://o/review' },
          policies: ['till'],
        },
      },
    },
  })
  const env = { HOME, MUSTER_ADDR: server.address, MUSTER_TOKEN: 'operator' }
  const words = ['login', 'explain', '-path=corp/eu', 'username=ada']
  const typed = await run(words, { env, input: 'secret words', isTerminal: true })
  t.equal(typed.code, 1, 'the login is refused')
  t.match(typed.out, /^Refused by +│? *= user$/m)
  t.match(typed.out, /^Locked until += 2026-01-01T/m)
  t.match(typed.out, /Policies of group ops += a, b/)
  t.match(typed.out, /search +yes +2\.5 +dc=d {2}\(uid=ada\) {2}1 found/)
  t.match(typed.out, /cn=g.{0,20}… {2}0 found/, 'a long filter is cut')
  t.ok(typed.out.split('\n').every((line) => line.length < 400))
  t.match(typed.out, /bind +no +3 +uid=ada,dc=d {2}code 49/)
  t.notMatch(typed.out + typed.err, 'secret words')
  t.match(JSON.parse(server.asked[0]?.body ?? ''), { username: 'ada', password: 'secret words' })
  t.equal(server.asked[0]?.headers['x-service-token'], 'operator')
  t.equal((await run([...words, '-no-password'], { env })).code, 1)
  t.same(JSON.parse(server.asked[1]?.body ?? ''), { username: 'ada' })
  const pod = await run(['login', 'explain', '-method=orchestrator', 'role=web', 'jwt=a.b.c'], {
    env,
  })
  t.equal(pod.code, 0)
  t.match(pod.out, /Service account += shop\/till/)
  t.notMatch(pod.out, 'a.b.c')
})
