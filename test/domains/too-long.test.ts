/** Names that no key of the store could hold: each is refused at the border, and the state takes the next write. */
import t from 'tap'
import { serverOfOne } from './server-of-one.ts'

const long = 'x'.repeat(9_000)
const id = '6f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a'

void t.test('what is too long to be a name stops nothing', async (t) => {
  const server = await serverOfOne(t, { begin: false, acl: { enabled: true } })
  const made = (await server.ask('PUT', '/v1/acl/bootstrap')).json()
  const token = (made as { readonly SecretID: string }).SecretID
  const node = { Node: 'n', Address: '10.0.0.1' }
  const rows: readonly (readonly [method: string, url: string, status: number, body?: unknown])[] =
    [
      ['PUT', `/v1/kv/a?acquire=${long}`, 400, 'v'],
      ['PUT', `/v1/kv/a?release=${long}`, 200, 'v'],
      ['PUT', `/v1/kv/a?lock=${long}&lock_index=1`, 400, 'v'],
      ['PUT', `/v1/kv/a?ns=${long}`, 400, 'v'],
      ['PUT', '/v1/txn', 409, [{ KV: { Verb: 'lock', Key: 'a', Session: long.repeat(10) } }]],
      ['PUT', '/v1/txn', 400, [{ KV: { Verb: 'set', Key: 'a', Namespace: long.repeat(10) } }]],
      ['PUT', '/v1/catalog/deregister', 400, { Node: long.repeat(10) }],
      ['PUT', '/v1/catalog/deregister', 400, { Node: 'n', ServiceID: long }],
      ['PUT', '/v1/catalog/deregister', 400, { Node: 'n', CheckID: long }],
      ['PUT', '/v1/catalog/register', 400, { ...node, Check: { Name: 'c', ServiceID: long } }],
      ['PUT', '/v1/catalog/register', 400, { ...node, Check: { Name: 'c', Type: long } }],
      ['PUT', '/v1/catalog/register', 200, { ...node, Check: { Name: 'c', Output: long } }],
      ['GET', `/v1/catalog/node/${long}`, 400],
      ['GET', `/v1/health/service/${long}`, 400],
      ['PUT', '/v1/session/create', 400, { Node: long }],
      ['PUT', '/v1/session/create', 400, { ServiceChecks: [{ ID: 'c', Namespace: long }] }],
      ['PUT', `/v1/session/destroy/${id}?ns=${long}`, 400],
      ['PUT', `/v1/session/renew/${id}${long}`, 400],
      ['GET', `/v1/acl/token/${long}`, 400],
      ['DELETE', `/v1/acl/token/${long}`, 400],
      ['DELETE', `/v1/acl/policy/${long}`, 400],
      ['DELETE', `/v1/acl/role/${long}`, 400],
      ['GET', `/v1/namespace/${long}`, 404],
      ['DELETE', `/v1/namespace/${long}`, 404],
      ['PUT', `/v1/namespace/${long}`, 400, {}],
      ['GET', `/v1/var/${long}`, 400],
      ['DELETE', `/v1/var/a?lock=${long}&lock_index=1`, 400],
    ]
  for (const [method, url, status, body] of rows) {
    const answer = await server.ask(method, url, body, token)
    t.equal(answer.status, status, `${method} ${url.slice(0, 60)}: ${answer.body}`)
    t.ok(answer.body.length < 500, 'in few words')
  }
  t.equal((await server.ask('PUT', '/v1/kv/a', 'v', token)).body, 'true', 'the next write')
})
