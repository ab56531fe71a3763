/** What of a configuration and of a role is taken, and how both are read back. */
import t from 'tap'
import { lifeOf, makeAuthority } from '../../../src/tls/certificates.ts'
import { serviceOfOne } from './service-of-one.ts'
import { pairOf, privatePem, publicPem } from './tokens.ts'

const configUrl = '/v1/auth/orchestrator/config'

void t.test('a configuration is replaced as a whole and shown without its secret', async (t) => {
  const { asRoot, server, config } = await serviceOfOne(t)
  t.match(await asRoot('GET', configUrl), { status: 404, body: '{"errors":[]}' })
  const pems = [pairOf('rsa'), pairOf('P-384'), pairOf('ed25519')].map(publicPem)
  const full = {
    ...config,
    pem_keys: pems,
    token_reviewer_jwt: 'not.a.jwt at all'.replaceAll(' ', '-'),
    disable_local_ca_jwt: 'true',
    disable_iss_validation: 0,
    issuer: 'https://o.test',
    unknown: 1,
  }
  t.match(await asRoot('POST', configUrl, full), { status: 204, body: '' })
  const read = await asRoot('GET', configUrl)
  t.same((read.json() as { data: unknown }).data, {
    orchestrator_host: config.orchestrator_host,
    orchestrator_ca_cert: config.orchestrator_ca_cert,
    kubernetes_host: config.orchestrator_host,
    kubernetes_ca_cert: config.orchestrator_ca_cert,
    pem_keys: pems.map((pem) => pem.trim()),
    disable_local_ca_jwt: true,
    disable_iss_validation: false,
    issuer: 'https://o.test',
    token_reviewer_jwt_set: true,
  })
  t.notOk(read.body.includes('not.a.jwt'))
  t.equal(
    (await asRoot('POST', configUrl, { orchestrator_host: 'o.test', pem_keys: pems })).status,
    204,
  )
  t.match((await asRoot('GET', configUrl)).json(), {
    data: {
      orchestrator_host: 'o.test',
      orchestrator_ca_cert: '',
      issuer: '',
      disable_iss_validation: true,
      disable_local_ca_jwt: false,
      token_reviewer_jwt_set: false,
    },
  })
  t.equal((await asRoot('DELETE', configUrl)).status, 405)
  t.equal((await server.ask('GET', configUrl)).status, 403)
  t.equal((await server.ask('POST', configUrl, full)).status, 403)
})

void t.test(
  'a configuration that cannot be used is refused and nothing of it stored',
  async (t) => {
    const { asRoot, config } = await serviceOfOne(t)
    await asRoot('POST', configUrl, config)
    const pem = publicPem(pairOf('P-256'))
    const { key } = await makeAuthority('x', lifeOf(Date.now(), 1))
    const cases: Readonly<Record<string, object>> = {
      'no host': { orchestrator_host: undefined },
      'an empty host': { orchestrator_host: '' },
      'a host in the clear': { orchestrator_host: 'http://o.test' },
      'a host that is none': { orchestrator_host: 'a b' },
      'a host of another kind': { orchestrator_host: ['o.test'] },
      'neither authority nor keys': { orchestrator_ca_cert: '', pem_keys: [] },
      'a private key': { pem_keys: [privatePem(pairOf('rsa'))] },
      'a good key and rubbish': { pem_keys: [pem, 'rubbish'] },
      'keys of another kind': { pem_keys: { a: pem } },
      'an empty key': { pem_keys: [pem, ''] },
      'too many keys': { pem_keys: Array.from({ length: 65 }, () => pem) },
      'an authority that is none': { orchestrator_ca_cert: pem },
      'a key as authority': { orchestrator_ca_cert: key },
      'rubbish as authority': { orchestrator_ca_cert: 'rubbish' },
      'a reviewer with blanks': { token_reviewer_jwt: 'a b' },
      'a reviewer with a line end': { token_reviewer_jwt: 'a\r\nb: c' },
      'a boolean that is none': { disable_local_ca_jwt: 'maybe' },
      'a long issuer': { issuer: 'x'.repeat(2_000) },
    }
    for (const [name, more] of Object.entries(cases)) {
      const answer = await asRoot('POST', configUrl, { ...config, issuer: 'https://new', ...more })
      t.equal(answer.status, 400, `${name}: ${answer.body}`)
    }
    for (const body of ['[]', '"x"', '{', '1']) {
      t.equal((await asRoot('POST', configUrl, body)).status, 400, body)
    }
    t.match((await asRoot('GET', configUrl)).json(), { data: { issuer: '' } })
  },
)

void t.test('in a pod neither authority nor keys need be given', async (t) => {
  const podFolder = t.testdir({ token: 'x' })
  const { asRoot } = await serviceOfOne(t, { podFolder })
  const host = { orchestrator_host: 'o.test' }
  t.equal((await asRoot('POST', configUrl, host)).status, 204)
  const without = { ...host, disable_local_ca_jwt: true }
  t.equal((await asRoot('POST', configUrl, without)).status, 400)
})

const roleUrl = '/v1/auth/orchestrator/role'

void t.test('a role is merged, found without letter case, and listed', async (t) => {
  const { asRoot } = await serviceOfOne(t)
  const read = async (name: string) =>
    ((await asRoot('GET', `${roleUrl}/${name}`)).json() as { data?: unknown }).data
  t.equal((await asRoot('LIST', roleUrl)).status, 404)
  t.equal((await asRoot('GET', `${roleUrl}/till`)).status, 404)
  const first = {
    bound_service_account_names: 'a, b*',
    bound_service_account_namespaces: ['*'],
    token_ttl: '90s',
    token_max_ttl: 3_600,
    token_policies: 'p,q',
    token_bound_cidrs: ['10.0.0.0/8', '::1'],
    token_explicit_max_ttl: '2h',
    token_no_default_policy: 'true',
    token_num_uses: '3',
    token_period: '1h',
    token_type: 'service',
    alias_name_source: 'serviceaccount_name',
  }
  const written = await asRoot('POST', `${roleUrl}/Till`, first)
  t.equal(written.status, 200)
  t.match(written.json(), { warnings: [/audience/], data: null, auth: null })
  const shown = {
    bound_service_account_names: ['a', 'b*'],
    bound_service_account_namespaces: ['*'],
    audience: '',
    alias_name_source: 'serviceaccount_name',
    token_ttl: 90,
    token_max_ttl: 3_600,
    token_policies: ['p', 'q'],
    token_bound_cidrs: ['10.0.0.0/8', '::1'],
    token_explicit_max_ttl: 7_200,
    token_no_default_policy: true,
    token_num_uses: 3,
    token_period: 3_600,
    token_type: 'service',
    ttl: 90,
    max_ttl: 3_600,
    period: 3_600,
    policies: ['p', 'q'],
  }
  t.same(await read('TILL'), shown)
  t.equal(
    (await asRoot('PUT', `${roleUrl}/till`, { audience: 'muster', token_ttl: 60 })).status,
    204,
  )
  t.same(await read('till'), { ...shown, audience: 'muster', token_ttl: 60, ttl: 60 })
  const small = { bound_service_account_names: '*', bound_service_account_namespaces: '*' }
  await asRoot('POST', `${roleUrl}/a.b-c_d`, small)
  t.match(await read('a.b-c_d'), { token_type: 'default', token_policies: [], ttl: 0 })
  const keys = { data: { keys: ['a.b-c_d', 'till'] } }
  t.match((await asRoot('LIST', roleUrl)).json(), keys)
  t.match((await asRoot('GET', `${roleUrl}?list=true`)).json(), keys)
  t.equal((await asRoot('DELETE', `${roleUrl}/TILL`)).status, 204)
  t.equal((await asRoot('DELETE', `${roleUrl}/till`)).status, 204)
  t.equal((await asRoot('GET', `${roleUrl}/till`)).status, 404)
})

void t.test('old names of token parameters count where the new ones are absent', async (t) => {
  const { asRoot, role } = await serviceOfOne(t)
  const old = {
    ...role,
    token_policies: undefined,
    policies: ['p'],
    ttl: 60,
    max_ttl: '2m',
    period: 30,
    num_uses: 4,
    bound_cidrs: '10.0.0.0/8',
  }
  await asRoot('POST', `${roleUrl}/r`, old)
  t.match((await asRoot('GET', `${roleUrl}/r`)).json(), {
    data: {
      token_policies: ['p'],
      policies: ['p'],
      token_ttl: 60,
      token_max_ttl: 120,
      token_period: 30,
      token_num_uses: 4,
      token_bound_cidrs: ['10.0.0.0/8'],
    },
  })
  const both = { policies: ['old'], token_policies: ['new'], ttl: 10, token_ttl: 20 }
  await asRoot('POST', `${roleUrl}/r`, both)
  t.match((await asRoot('GET', `${roleUrl}/r`)).json(), {
    data: { token_policies: ['new'], policies: ['new'], token_ttl: 20, ttl: 20 },
  })
})

void t.test('a role that cannot be used is refused and leaves the old one', async (t) => {
  const { asRoot, role } = await serviceOfOne(t)
  await asRoot('POST', `${roleUrl}/r`, { ...role, token_max_ttl: 100 })
  const cases: Readonly<Record<string, object>> = {
    'no names': { bound_service_account_names: [] },
    'no namespaces': { bound_service_account_namespaces: '' },
    'a star in company': { bound_service_account_names: ['*', 'a'] },
    'a star with commas': { bound_service_account_namespaces: 'a,*' },
    'a ttl above the stored maximum': { token_ttl: 101 },
    'a negative ttl': { token_ttl: -1 },
    'a fraction of a second': { token_ttl: 1.5 },
    'a duration that is none': { token_ttl: 'soon' },
    'negative uses': { token_num_uses: -1 },
    'a type of mounts': { token_type: 'default-service' },
    'a type that is none': { token_type: 'root' },
    'batch with a period': { token_type: 'batch', token_period: 10 },
    'batch with uses': { token_type: 'batch', token_num_uses: 1 },
    'a network that is none': { token_bound_cidrs: '10.0.0.0/33' },
    'a period above the maximum of the mount': { token_period: '769h' },
    'a source that is none': { alias_name_source: 'uid' },
    'names of another kind': { bound_service_account_names: [{}] },
    'a long audience': { audience: 'x'.repeat(2_000) },
  }
  for (const [name, body] of Object.entries(cases)) {
    const answer = await asRoot('POST', `${roleUrl}/r`, body)
    t.equal(answer.status, 400, `${name}: ${answer.body}`)
  }
  for (const [body, text] of [
    [{ token_ttl: 2 ** 31 }, 'token_ttl must be from 0 to 315360000 seconds (87600h)'],
    [{ period: '87601h' }, 'period must be from 0 to 315360000 seconds (87600h)'],
    [{ num_uses: -1 }, 'num_uses must not be negative'],
  ] as const) {
    const answer = await asRoot('POST', `${roleUrl}/r`, body)
    t.same(answer.json(), { errors: [text] }, 'in the name that was sent')
  }
  t.match((await asRoot('GET', `${roleUrl}/r`)).json(), { data: { token_ttl: 0, audience: '' } })
  for (const missing of ['bound_service_account_names', 'bound_service_account_namespaces']) {
    const body = { ...role, [missing]: undefined }
    t.equal((await asRoot('POST', `${roleUrl}/new`, body)).status, 400)
  }
  for (const name of ['-a', 'a-', '.a', 'a%20b', 'a%2Fb', '%C3%A9', '*', 'x'.repeat(200)]) {
    t.equal((await asRoot('POST', `${roleUrl}/${name}`, role)).status, 404, name)
  }
})

void t.test('policies say who may read, write and list', async (t) => {
  const { asRoot, server, config, role } = await serviceOfOne(t)
  const rules =
    'auth "orchestrator/role/*" { policy = "read" }\nauth "orchestrator/role" { policy = "list" }'
  const policy = await asRoot('PUT', '/v1/acl/policy/reader', { Rules: rules })
  t.equal(policy.status, 200, policy.body)
  const made = await asRoot('PUT', '/v1/acl/token', { Policies: [{ Name: 'reader' }] })
  const { SecretID: token } = made.json() as { readonly SecretID: string }
  await asRoot('POST', configUrl, config)
  await asRoot('POST', `${roleUrl}/till`, role)
  const ask = async (method: string, url: string, body?: unknown) =>
    (await server.ask(method, url, body, token)).status
  t.equal(await ask('GET', `${roleUrl}/till`), 200)
  t.equal(await ask('LIST', roleUrl), 200)
  t.equal(await ask('POST', `${roleUrl}/till`, role), 403)
  t.equal(await ask('DELETE', `${roleUrl}/till`), 403)
  t.equal(await ask('GET', configUrl), 403)
  t.equal(await ask('POST', configUrl, config), 403)
})
