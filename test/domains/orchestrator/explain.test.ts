/** A login as an operator has it explained. */
import t from 'tap'
import { sendJson } from './review-server.ts'
import { serviceOfOne } from './service-of-one.ts'
import { account } from './tokens.ts'

type Explained = {
  readonly data: { readonly steps: readonly { readonly step: string; readonly passed: boolean }[] }
}

const url = '/v1/sys/auth/orchestrator/explain'

void t.test('a good login is explained and nobody gets a token', async (t) => {
  const { asRoot, configure, jwt, orchestrator } = await serviceOfOne(t)
  await configure({ token_reviewer_jwt: 'reviewer-secret' }, { token_policies: 'till' })
  const token = jwt()
  const answer = await asRoot('POST', url, { role: 'till', jwt: token })
  t.equal(answer.status, 200, answer.body)
  t.match(answer.json(), {
    data: {
      allowed: true,
      refused_by: null,
      reason: null,
      service_account: account,
      review: {
        url: `${orchestrator.url}/apis/authentication.k8s.io/v1/tokenreviews`,
        authority_from: 'configuration',
        reviewer_from: 'configuration',
      },
      policies: ['default', 'till'],
    },
    auth: null,
  })
  const { steps } = (answer.json() as Explained).data
  t.same(
    steps.map(({ step, passed }) => [step, passed]),
    ['form', 'signature', 'times', 'issuer', 'audience', 'identity', 'bindings', 'review'].map(
      (step) => [step, true],
    ),
  )
  const secrets = ['reviewer-secret', ...token.split('.').slice(1)]
  for (const secret of secrets) t.notOk(answer.body.includes(secret))
})

void t.test('the rule that refuses is named, and what came before it', async (t) => {
  const { asRoot, configure, jwt, orchestrator } = await serviceOfOne(t)
  await configure()
  const explain = async (token: string) =>
    (await asRoot('POST', url, { role: 'till', jwt: token })).json() as Explained
  const expired = await explain(jwt({ exp: 1 }))
  t.match(expired, {
    data: { allowed: false, refused_by: 'times', reason: 'the token has expired' },
  })
  t.same(
    expired.data.steps.map(({ step, passed }) => [step, passed]),
    [
      ['form', true],
      ['signature', true],
      ['times', false],
    ],
  )
  const [head, , tail] = jwt().split('.')
  t.match(await explain(`${head}.e30.${tail}`), { data: { refused_by: 'signature' } })
  t.match(await explain('x'), { data: { refused_by: 'form', service_account: null } })
  await configure({}, { token_policies: 'root' })
  t.match(await explain(jwt()), { data: { allowed: false, refused_by: 'policies' } })
  const names = Array.from({ length: 64 }, (_, place) => `p${place}`)
  await configure({}, { token_policies: names })
  t.match(await explain(jwt()), {
    data: { allowed: true, refused_by: null, policies: [...names, 'default'].sort() },
  })
  orchestrator.answer((_, response) => sendJson(response, {}, 500))
  t.match(await explain(jwt()), {
    data: { refused_by: 'unreachable', service_account: account, reason: /status 500/ },
  })
  await configure({}, { token_bound_cidrs: '10.0.0.0/8' })
  t.match(await explain(jwt()), { data: { allowed: false, address_allowed: false } })
})

void t.test('an explanation needs the rights for it', async (t) => {
  const { server, asRoot, configure, jwt } = await serviceOfOne(t)
  await configure()
  const body = { role: 'till', jwt: jwt() }
  t.equal((await server.ask('POST', url, body)).status, 403)
  const tokenWith = async (name: string, rules: string): Promise<string> => {
    await asRoot('PUT', `/v1/acl/policy/${name}`, { Rules: rules })
    const made = await asRoot('PUT', '/v1/acl/token', { Policies: [{ Name: name }] })
    return (made.json() as { readonly SecretID: string }).SecretID
  }
  const read = 'acl = "read"'
  const explain = 'login "orchestrator" { policy = "explain" }'
  const elsewhere = 'login "other" { policy = "explain" }'
  const asked = async (token: string) => (await server.ask('POST', url, body, token)).status
  t.equal(await asked(await tokenWith('one', read)), 403)
  t.equal(await asked(await tokenWith('two', explain)), 403)
  t.equal(await asked(await tokenWith('other', `${read}\n${elsewhere}`)), 403)
  t.equal(await asked(await tokenWith('both', `${read}\n${explain}`)), 200)
})

void t.test('mounts elsewhere, unknown ones, and what is missing', async (t) => {
  const { asRoot, configure, jwt } = await serviceOfOne(t)
  await configure()
  await asRoot('POST', '/v1/sys/auth/k8s/prod', { type: 'kubernetes' })
  const body = { role: 'till', jwt: jwt() }
  const below = await asRoot('POST', '/v1/sys/auth/k8s/prod/explain', body)
  t.match(below, { status: 400, body: /invalid role name/ })
  t.equal((await asRoot('POST', '/v1/sys/auth/none/explain', body)).status, 404)
  t.equal((await asRoot('POST', '/v1/sys/auth/k8s/explain', body)).status, 404)
  t.equal((await asRoot('POST', url, { role: 'till' })).status, 400)
  t.equal((await asRoot('POST', url, { jwt: 'x' })).status, 400)
})
