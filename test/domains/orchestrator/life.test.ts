/** The life of a token that a service account logged in for: renewal by its role, and what ends it. */
import t from 'tap'
import type { Answer } from '../server-of-one.ts'
import { issued, serviceOfOne, type Issued } from './service-of-one.ts'

const roleUrl = '/v1/auth/orchestrator/role/till'

void t.test('a renewal goes by the role as it is now, and asks nobody', async (t) => {
  const { server, asRoot, configure, jwt, logIn, orchestrator } = await serviceOfOne(t)
  await configure({}, { token_ttl: '1h' })
  const { client_token: token } = issued(await logIn(jwt()))
  const renew = (): Promise<Answer> => server.ask('POST', '/v1/auth/token/renew-self', {}, token)
  t.match((await renew()).json(), { auth: { lease_duration: 3_600, renewable: true } })
  await asRoot('POST', roleUrl, { token_ttl: '30m', token_policies: 'other' })
  const renewed = (await renew()).json() as Issued
  t.match(renewed.auth.lease_duration, 1_800)
  t.same(renewed.auth.policies, ['default', 'till'], 'policies are those of the login')
  t.equal(orchestrator.reviews.length, 1)
  await asRoot('DELETE', roleUrl)
  const refused = await renew()
  t.ok(refused.status >= 400 && refused.status < 500, `${refused.status} ${refused.body}`)
  const self = await server.ask('GET', '/v1/auth/token/lookup-self', undefined, token)
  t.match(self.json(), {
    data: {
      path: 'auth/orchestrator/login',
      display_name: 'orchestrator-shop-till',
      meta: { role: 'till', service_account_name: 'till' },
    },
  })
  t.equal((await logIn(jwt())).status, 400, 'and nobody logs in by it any more')
})

void t.test('disabling the method ends its tokens, and nothing of it is left', async (t) => {
  const { server, asRoot, configure, jwt, logIn } = await serviceOfOne(t)
  await configure({ token_reviewer_jwt: 'reviewer' })
  const { client_token: token } = issued(await logIn(jwt()))
  const lookup = () => server.ask('GET', '/v1/auth/token/lookup-self', undefined, token)
  t.equal((await lookup()).status, 200)
  t.equal((await asRoot('DELETE', '/v1/sys/auth/orchestrator')).status, 204)
  t.equal((await lookup()).status, 403)
  t.equal((await logIn(jwt())).status, 404)
  t.equal((await asRoot('GET', '/v1/auth/orchestrator/config')).status, 404)
  await asRoot('POST', '/v1/sys/auth/orchestrator', { type: 'orchestrator' })
  t.equal((await asRoot('GET', '/v1/auth/orchestrator/config')).status, 404)
  t.equal((await asRoot('GET', roleUrl)).status, 404)
  t.equal((await lookup()).status, 403)
})

void t.test('the parameters of a role are those of its tokens', async (t) => {
  const { server, configure, jwt, logIn } = await serviceOfOne(t)
  await configure({}, { token_num_uses: 2, token_no_default_policy: true, token_policies: 'a,B' })
  const auth = issued(await logIn(jwt()))
  t.same(auth.policies, ['a', 'b'])
  const use = async () => (await server.ask('GET', '/v1/kv/x', undefined, auth.client_token)).body
  t.match(await use(), /lacks permission/)
  t.match(await use(), /lacks permission/)
  t.match(await use(), /ACL not found/)
  await configure({}, { token_explicit_max_ttl: '10m', token_ttl: '1h' })
  t.equal(issued(await logIn(jwt())).lease_duration, 600)
  await configure({}, { token_explicit_max_ttl: 0, token_ttl: 0, token_period: '5m' })
  t.equal(issued(await logIn(jwt())).lease_duration, 300)
})

void t.test('a token that is sent along to a login is not looked at', async (t) => {
  const { server, configure, jwt } = await serviceOfOne(t)
  await configure()
  const body = { role: 'till', jwt: jwt() }
  const answer = await server.ask('POST', '/v1/auth/orchestrator/login', body, 'no-such-token')
  t.equal(answer.status, 200, answer.body)
})

void t.test('a role of batch tokens gives one that nothing stores', async (t) => {
  const { server, asRoot, configure, jwt, logIn } = await serviceOfOne(t)
  await asRoot('PUT', '/v1/acl/policy/till', { Rules: 'key_prefix "" { policy = "read" }' })
  await configure({}, { token_type: 'batch', token_ttl: '10m' })
  const auth = issued(await logIn(jwt()))
  t.match(auth, { accessor: '', renewable: false, lease_duration: 600 })
  const read = () => server.ask('GET', '/v1/kv/x', undefined, auth.client_token)
  t.equal((await read()).status, 404, 'it may read, and there is nothing')
  t.equal((await asRoot('DELETE', '/v1/sys/auth/orchestrator')).status, 204)
  t.equal((await read()).status, 403)
})
