/** Requests of Vault's clients that want the answer wrapped, or another namespace. */
import t from 'tap'
import type { Route } from '../../src/api/route.ts'
import { apiFake } from '../support/api-fake.ts'

let made = 0
const paths = ['/v1/auth/token/create', '/v1/sys/auth/*', '/v1/identity/entity/id/:id', '/v1/var/*']
const routes = paths.map((path): Route => ({
  method: 'POST',
  path,
  handle() {
    made += 1
    return { json: { auth: { client_token: 'secret' } } }
  },
}))
const { app } = apiFake({ routes }).http
const post = (url: string, value?: string, name = 'X-Vault-Wrap-TTL') =>
  app.inject({ method: 'POST', url, headers: { ...(value !== undefined && { [name]: value }) } })

t.test('what would have to be wrapped is refused, and nothing is done', async (t) => {
  const places = [
    'auth/token/create',
    '%61uth/token/create',
    'sys/auth/a/b',
    'identity/entity/id/e',
  ]
  for (const place of places) {
    for (const ttl of ['60', '5m', '-1', 'x', '0, 60', '60, 0']) {
      const reply = await post(`/v1/${place}`, ttl)
      t.equal(reply.statusCode, 501, `${place} ${ttl}`)
      t.match(reply.body, /response wrapping.* not served: leave X-Vault-Wrap-TTL out/)
    }
  }
  const reply = await post('/v1/auth/token/create', '60')
  t.match(reply.json(), { errors: [/response wrapping/] })
  t.equal(made, 0)
})

t.test('other requests are served', async (t) => {
  for (const ttl of [undefined, '', '0', '0s']) {
    t.equal((await post('/v1/auth/token/create', ttl)).statusCode, 200, ttl ?? 'none')
  }
  t.equal((await post('/v1/var/a', '60')).statusCode, 200, 'not of Vault')
})

t.test('a namespace of Vault is refused before anything is done', async (t) => {
  const before = made
  const within = (url: string, namespace: string) => post(url, namespace, 'X-Vault-Namespace')
  for (const place of ['auth/token/create', '%61uth/token/create', 'sys/auth/a/b']) {
    for (const namespace of ['team', 'team/', 'root/team', 'root, team']) {
      const reply = await within(`/v1/${place}`, namespace)
      t.equal(reply.statusCode, 501, `${place} ${namespace}`)
      t.match(reply.json(), { errors: [/namespaces are not served.*leave X-Vault-Namespace out/] })
    }
  }
  t.equal(made, before)
  for (const namespace of ['', '/', 'root', 'root/']) {
    t.equal((await within('/v1/auth/token/create', namespace)).statusCode, 200, namespace)
  }
  t.equal((await within('/v1/var/a', 'team')).statusCode, 200, 'not of Vault')
})
