/** Leaving a domain out of the list leaves the feature out, and nothing else. */
import t from 'tap'
import { serverDomains } from '../../src/domains/registry.ts'
import { serverOfOne } from './server-of-one.ts'

void t.test('a server without keys and without events does all the rest', async (t) => {
  const domains = serverDomains.filter(({ name }) => name !== 'kv' && name !== 'events')
  t.equal(domains.length, serverDomains.length - 2)
  const server = await serverOfOne(t, { domains })
  t.equal((await server.ask('PUT', '/v1/kv/a', 'v')).status, 404)
  t.equal((await server.ask('GET', '/v1/event/stream')).status, 404)

  const node = { Node: 'n1', Address: '192.0.2.1' }
  t.equal((await server.ask('PUT', '/v1/catalog/register', node)).status, 200)
  const created = await server.ask('PUT', '/v1/session/create', { Node: 'n1', Checks: [] })
  t.equal(created.status, 200, created.body)
  const { ID } = created.json() as { readonly ID: string }
  t.match((await server.ask('GET', `/v1/session/info/${ID}`)).json(), [{ ID }])
  t.equal((await server.ask('PUT', '/v1/var/a', { Items: { k: 'v' } })).status, 200)
  t.match((await server.ask('GET', '/v1/var/a')).json(), { Items: { k: 'v' } })

  // What hangs on the node goes with it, as far as it is there.
  t.equal((await server.ask('PUT', '/v1/catalog/deregister', { Node: 'n1' })).status, 200)
  t.same((await server.ask('GET', `/v1/session/info/${ID}`)).json(), [])
})
