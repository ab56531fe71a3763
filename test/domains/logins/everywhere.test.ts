/** What a login gives is a token like any other: for keys, locks, sessions, variables and `/v1/acl`, under every header that has one. */
import t, { type Test } from 'tap'
import { serverOfOne } from '../server-of-one.ts'
import { fakeLogin } from './fake-login.ts'

const headersOf: Readonly<Record<string, (token: string) => Readonly<Record<string, string>>>> = {
  'X-Service-Token': (token) => ({ 'x-service-token': token }),
  'X-Consul-Token': (token) => ({ 'x-consul-token': token }),
  'X-Nomad-Token': (token) => ({ 'x-nomad-token': token }),
  'X-Vault-Token': (token) => ({ 'x-vault-token': token }),
  Authorization: (token) => ({ authorization: `Bearer ${token}` }),
}

/** What the fake's logins have. */
const rules = `
  key_prefix "app/" { policy = "write" }
  session_prefix "" { policy = "write" }
  acl = "read"
  namespace "default" { variables { path "app/*" { capabilities = ["list", "read", "write"] } } }`

type Auth = { readonly client_token: string; readonly accessor: string }

async function begun(t: Test) {
  const { domains } = fakeLogin()
  const server = await serverOfOne(t, { domains, acl: { enabled: true, defaultPolicy: 'deny' } })
  const answer = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = answer.json() as { readonly SecretID: string }
  await server.ask('PUT', '/v1/catalog/register', { Node: 'one', Address: '10.0.0.1' }, root)
  await server.ask('PUT', '/v1/acl/policy/people', { Rules: rules }, root)
  const logIn = async (): Promise<Auth> => {
    const login = await server.ask('POST', '/v1/auth/ldap/login/ada', { password: 'adaada' })
    t.equal(login.status, 200)
    return (login.json() as { readonly auth: Auth }).auth
  }
  return { server, root, logIn }
}

t.test('a token of a login is good for everything that its policies allow', async (t) => {
  const { server, logIn } = await begun(t)
  const { client_token: token, accessor } = await logIn()
  for (const [name, headers] of Object.entries(headersOf)) {
    const asked = async (status: number, of: string, body?: unknown): Promise<unknown> => {
      const [method = '', url = ''] = of.split(' ')
      const answer = await server.ask(method, url, body, undefined, headers(token))
      t.equal(answer.status, status, `${name}: ${of}: ${answer.body.slice(0, 200)}`)
      return answer.status === 200 ? answer.json() : null
    }
    const key = `app/${name}`
    await asked(200, `PUT /v1/kv/${key}`, 'text')
    await asked(200, `GET /v1/kv/${key}`)
    await asked(403, 'PUT /v1/kv/other', 'text')

    const fields = { TTL: '60s', LockDelay: '1ms', NodeChecks: [] }
    const session = (await asked(200, 'PUT /v1/session/create', fields)) as { ID: string }
    t.equal(await asked(200, `PUT /v1/kv/${key}?acquire=${session.ID}`, 'held'), true)
    t.match(await asked(200, `GET /v1/session/info/${session.ID}`), [{ ID: session.ID }])
    await asked(200, `PUT /v1/session/renew/${session.ID}`)
    t.equal(await asked(200, `PUT /v1/kv/${key}?release=${session.ID}`, 'free'), true)
    await asked(200, `PUT /v1/session/destroy/${session.ID}`)

    await asked(200, `PUT /v1/var/${key}`, { Items: { a: 'b' } })
    t.match(await asked(200, `GET /v1/var/${key}`), { Items: { a: 'b' } })
    t.match(await asked(200, `GET /v1/vars?prefix=${key}`), [{ Path: key }])
    await asked(403, 'GET /v1/var/other')

    t.match(await asked(200, 'GET /v1/acl/token/self'), { AccessorID: accessor })
    t.match(await asked(200, `GET /v1/acl/token/${accessor}`), { AccessorID: accessor })
    await asked(403, `DELETE /v1/acl/token/${accessor}`)
    const explained = (method: string, path: string) =>
      asked(200, `GET /v1/acl/explain?method=${method}&path=${path}&accessor=${accessor}`)
    t.match(await explained('PUT', '/v1/kv/app/a'), { Allowed: true, DecidedBy: 'rules' })
    t.match(await explained('PUT', '/v1/kv/other'), { Allowed: false })
    t.match(await asked(200, 'GET /v1/auth/token/lookup-self'), { data: { accessor } })
    await asked(200, `DELETE /v1/kv/${key}`)
  }
})

t.test('one that was deleted by /v1/acl is refused under every header', async (t) => {
  const { server, root, logIn } = await begun(t)
  const { client_token: token, accessor } = await logIn()
  const statuses = async () =>
    Promise.all(
      Object.values(headersOf).map(async (headers) => {
        const own = headers(token)
        const path = '/v1/auth/token/lookup-self'
        return (await server.ask('GET', path, undefined, undefined, own)).status
      }),
    )
  t.same(new Set(await statuses()), new Set([200]))
  t.equal((await server.ask('DELETE', `/v1/acl/token/${accessor}`, undefined, root)).status, 200)
  t.same(new Set(await statuses()), new Set([403]))
})
