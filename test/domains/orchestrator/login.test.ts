/** Logins by service accounts, from the configuration to the end of the token, against a review server over HTTPS. */
import t from 'tap'
import { eventuallyTrue } from '../../support/eventually.ts'
import { goodReview, sendJson } from './review-server.ts'
import { issued, serviceOfOne, type Issued } from './service-of-one.ts'
import { account, legacy, pairOf, projected, publicPem, signed } from './tokens.ts'

const rules = 'key_prefix "till/" { policy = "write" }'

void t.test('a service account logs in, and its token is as good as any other', async (t) => {
  const { server, asRoot, configure, jwt, logIn, orchestrator } = await serviceOfOne(t)
  await asRoot('PUT', '/v1/acl/policy/till', { Rules: rules })
  await configure({}, { token_ttl: '1h' })
  const token = jwt()
  const answer = await logIn(token)
  const auth = issued(answer)
  const { request_id, auth: _, ...rest } = answer.json() as Issued & { request_id: string }
  t.match(request_id, /./)
  t.same(rest, {
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data: null,
    wrap_info: null,
    warnings: null,
  })
  t.match(auth, {
    policies: ['default', 'till'],
    metadata: {
      role: 'till',
      service_account_name: 'till',
      service_account_namespace: 'shop',
      service_account_secret_name: '',
      service_account_uid: account.uid,
    },
    lease_duration: 3_600,
    renewable: true,
    accessor: /./,
  })
  t.match(orchestrator.reviews, [
    { authorization: `Bearer ${token}`, body: { spec: { token, audiences: projected(0).aud } } },
  ])
  t.notOk(answer.body.includes(token.split('.')[1] ?? ''), 'nothing of the JWT comes back')
  const put = (key: string) => server.ask('PUT', `/v1/kv/${key}`, 'x', auth.client_token)
  t.equal((await put('till/a')).status, 200)
  t.equal((await put('other/a')).status, 403)
  t.equal((await server.ask('GET', '/v1/kv/till/a', undefined, auth.client_token)).status, 200)
})

void t.test('a token of the old form, a role without letter case, an alias by name', async (t) => {
  const { configure, logIn, pair, orchestrator } = await serviceOfOne(t)
  await configure({}, { alias_name_source: 'serviceaccount_name' })
  const auth = issued(await logIn(signed({ alg: 'ES256' }, legacy(), pair), 'TILL'))
  t.match(auth.metadata, { role: 'TILL', service_account_secret_name: 'till-token-x7k2p' })
  t.notOk('audiences' in (orchestrator.reviews[0]?.body.spec ?? {}))
})

void t.test('what a login lacks before its token is looked at', async (t) => {
  const { server, asRoot, logIn, jwt, config, role, orchestrator } = await serviceOfOne(t)
  const post = (body: unknown) => server.ask('POST', '/v1/auth/orchestrator/login', body)
  const good = jwt()
  for (const body of [{}, { role: 'till' }, { jwt: good }, { role: '', jwt: good }, undefined]) {
    t.equal((await post(body)).status, 400)
  }
  for (const body of [[], 'x', { role: ['a'], jwt: good }, { role: 'a', jwt: {} }]) {
    t.equal((await post(body)).status, 400)
  }
  t.match(await logIn(good), { status: 400, body: /invalid role name/ })
  await asRoot('POST', '/v1/auth/orchestrator/role/till', role)
  t.match(await logIn(good), { status: 400, body: /not configured/ })
  await asRoot('POST', '/v1/auth/orchestrator/config', config)
  t.equal((await logIn(good)).status, 200)
  t.equal((await logIn(good, 'other')).status, 400)
  t.equal((await logIn(good, '../till')).status, 400)
  t.equal((await server.ask('GET', '/v1/auth/orchestrator/login')).status, 405)
  const cidrs = { token_bound_cidrs: '10.0.0.0/8' }
  await asRoot('POST', '/v1/auth/orchestrator/role/till', cidrs)
  const asked = orchestrator.reviews.length
  t.equal((await logIn(good)).status, 403)
  t.equal(orchestrator.reviews.length, asked, 'nobody was asked for a caller from elsewhere')
})

void t.test(
  'each reviewer in turn: its own token, the one of the pod, the one that logs in',
  async (t) => {
    const podFolder = t.testdir({ token: 'of-the-pod\n', 'ca.crt': 'x' })
    const { asRoot, orchestrator, configure, jwt, logIn, config } = await serviceOfOne(t, {
      podFolder,
    })
    const bearer = async () => {
      const token = jwt()
      issued(await logIn(token))
      const { authorization } = orchestrator.reviews.at(-1) ?? {}
      return authorization === `Bearer ${token}` ? 'its own' : authorization
    }
    await configure({ token_reviewer_jwt: 'of-the-configuration' })
    t.equal(await bearer(), 'Bearer of-the-configuration')
    await configure()
    t.equal(await bearer(), 'Bearer of-the-pod', 'a write forgets what it leaves out')
    await configure({ disable_local_ca_jwt: true })
    t.equal(await bearer(), 'its own')
    const shown = await asRoot('GET', '/v1/auth/orchestrator/config')
    t.notOk(shown.body.includes('of-the-configuration'))
    t.match(shown.json(), { data: { ...config, disable_local_ca_jwt: true } })
  },
)

void t.test('in a pod, its authority is taken, and a new one as soon as it is there', async (t) => {
  const { writeFile } = await import('node:fs/promises')
  const podFolder = t.testdir({ token: 'of-the-pod' })
  const { orchestrator, configure, jwt, logIn } = await serviceOfOne(t, { podFolder })
  await writeFile(`${podFolder}/ca.crt`, orchestrator.authority)
  await configure({ orchestrator_ca_cert: '', pem_keys: [] })
  t.equal((await logIn(jwt())).status, 200)
  const authority = await orchestrator.replaceAuthority()
  orchestrator.server.closeAllConnections()
  t.equal((await logIn(jwt())).status, 403, 'a certificate of an authority that is not known yet')
  await writeFile(`${podFolder}/ca.crt`, authority)
  t.equal((await logIn(jwt())).status, 200)
  await configure({ orchestrator_ca_cert: '', disable_local_ca_jwt: true })
  t.equal((await logIn(jwt())).status, 403, 'the authorities of the system do not vouch for it')
})

void t.test('without keys the review alone decides', async (t) => {
  const { configure, logIn, orchestrator } = await serviceOfOne(t)
  await configure({ pem_keys: [] })
  const foreign = signed({ alg: 'RS256' }, projected(Date.now()), pairOf('rsa'))
  t.equal((await logIn(foreign)).status, 200)
  orchestrator.answer((_, response) =>
    sendJson(response, { kind: 'TokenReview', status: { authenticated: false } }),
  )
  t.equal((await logIn(foreign)).status, 403)
})

void t.test('a review is asked at every login, and never remembered', async (t) => {
  const { configure, logIn, jwt, orchestrator } = await serviceOfOne(t)
  await configure()
  const token = jwt()
  for (let at = 0; at < 3; at += 1) t.equal((await logIn(token)).status, 200)
  t.equal(orchestrator.reviews.length, 3)
  orchestrator.answer((_, response) =>
    sendJson(response, { kind: 'Status', status: 'Failure' }, 401),
  )
  t.equal((await logIn(token)).status, 403)
})

void t.test('the audience of a role is compared, and asked for', async (t) => {
  const { configure, logIn, jwt, orchestrator } = await serviceOfOne(t)
  await configure({}, { audience: 'muster' })
  t.equal((await logIn(jwt())).status, 403)
  t.equal(orchestrator.reviews.length, 0)
  t.equal((await logIn(jwt({ aud: ['other', 'muster'] }))).status, 200)
  t.same(orchestrator.reviews[0]?.body.spec.audiences, ['muster'])
  orchestrator.answer((_, response) => sendJson(response, goodReview(account, ['other'])))
  t.equal((await logIn(jwt({ aud: ['other', 'muster'] }))).status, 403)
})

void t.test('the issuer counts where its validation is on', async (t) => {
  const { configure, logIn, jwt } = await serviceOfOne(t)
  await configure({ disable_iss_validation: false })
  t.equal((await logIn(jwt())).status, 403)
  t.equal((await logIn(jwt({ iss: 'kubernetes/serviceaccount' }))).status, 200)
  await configure({ disable_iss_validation: false, issuer: 'https://orchestrator.test' })
  t.equal((await logIn(jwt())).status, 200)
  await configure({ issuer: 'https://elsewhere.test' })
  t.equal((await logIn(jwt())).status, 200, 'it is off unless it is switched on')
})

void t.test('mounts elsewhere share nothing, and clients of the peer use its names', async (t) => {
  const { server, asRoot, config, role, jwt, logIn } = await serviceOfOne(t)
  const mount = 'k8s/prod/eu'
  const enabled = await asRoot('POST', `/v1/sys/auth/${mount}`, { type: 'kubernetes' })
  t.equal(enabled.status, 204)
  const { orchestrator_host, orchestrator_ca_cert, pem_keys } = config
  const written = await asRoot('POST', `/v1/auth/${mount}/config`, {
    kubernetes_host: orchestrator_host,
    kubernetes_ca_cert: orchestrator_ca_cert,
    pem_keys,
  })
  t.equal(written.status, 204)
  t.match(await asRoot('GET', `/v1/auth/${mount}/config`), { status: 200 })
  const read = (await asRoot('GET', `/v1/auth/${mount}/config`)).json()
  t.match(read, { data: { kubernetes_host: orchestrator_host } })
  await asRoot('POST', `/v1/auth/${mount}/role/till`, role)
  t.equal((await asRoot('GET', '/v1/auth/orchestrator/config')).status, 404)
  t.equal((await asRoot('LIST', '/v1/auth/orchestrator/role')).status, 404)
  t.match((await asRoot('GET', `/v1/auth/${mount}/role?list=true`)).json(), {
    data: { keys: ['till'] },
  })
  const auth = issued(await logIn(jwt(), 'till', mount))
  const self = () => server.ask('GET', '/v1/kv/x', undefined, auth.client_token)
  t.not((await self()).body, '', 'the token is known')
  t.equal((await logIn(jwt())).status, 400)
  t.equal((await asRoot('DELETE', `/v1/sys/auth/${mount}`)).status, 204)
  t.match(await self(), { status: 403 })
  t.equal((await logIn(jwt(), 'till', mount)).status, 404)
  // Enabled anew it knows nothing of the first one.
  await asRoot('POST', `/v1/sys/auth/${mount}`, { type: 'kubernetes' })
  t.equal((await asRoot('GET', `/v1/auth/${mount}/config`)).status, 404)
  t.equal((await asRoot('LIST', `/v1/auth/${mount}/role`)).status, 404)
  t.match(await self(), { status: 403 })
})

void t.test('several keys, and each kind of them', async (t) => {
  const { configure, logIn } = await serviceOfOne(t)
  const kinds = { RS256: pairOf('rsa'), ES384: pairOf('P-384'), EdDSA: pairOf('ed25519') }
  await configure({ pem_keys: Object.values(kinds).map(publicPem) })
  for (const [alg, pair] of Object.entries(kinds)) {
    t.equal((await logIn(signed({ alg }, projected(Date.now()), pair))).status, 200, alg)
  }
})

void t.test('a caller that goes away leaves no review behind', async (t) => {
  const { configure, logIn, jwt, orchestrator } = await serviceOfOne(t)
  await configure()
  let closed = false
  orchestrator.answer((_, response) => {
    response.on('close', () => {
      closed = true
    })
    setImmediate(() => orchestrator.server.closeAllConnections())
  })
  t.equal((await logIn(jwt())).status, 403)
  await eventuallyTrue('the connection ended', () => closed)
})
