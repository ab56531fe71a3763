/** What tokens may write and see of the catalog, where names and ids could lead around a rule. */
import t, { type Test } from 'tap'
import { started } from '../acl/started.ts'

const id = '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a'

async function guarded(t: Test, rules: string) {
  const { server, root } = await started(t)
  const asRoot = async (method: string, url: string, body?: unknown) => {
    const answer = await server.ask(method, url, body, root)
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${answer.body}`)
    return answer
  }
  await asRoot('PUT', '/v1/acl/policy/some', { Rules: rules })
  const token = await asRoot('PUT', '/v1/acl/token', { Type: 'client', Policies: ['some'] })
  const { SecretID: secret } = token.json() as { SecretID: string }
  const ask = (method: string, url: string, body?: unknown) => server.ask(method, url, body, secret)
  return { asRoot, ask }
}

void t.test('the id of another node is no way to remove it', async (t) => {
  const { asRoot, ask } = await guarded(t, 'node_prefix "mine-" { policy = "write" }')
  await asRoot('PUT', '/v1/catalog/register', { Node: 'other', ID: id, Address: '10.0.0.1' })
  const Node = { Node: 'mine-1', ID: id, Address: '10.0.0.2' }
  t.equal((await ask('PUT', '/v1/catalog/register', Node)).status, 403)
  t.equal((await ask('PUT', '/v1/txn', [{ Node: { Verb: 'set', Node } }])).status, 403)
  t.match((await asRoot('GET', '/v1/catalog/node/other')).json(), { Node: { ID: id } })
  t.equal((await ask('PUT', '/v1/catalog/register', { ...Node, ID: undefined })).status, 200)
  await asRoot('PUT', '/v1/catalog/register', { ...Node, Node: 'mine-2' })
  t.equal((await ask('PUT', '/v1/catalog/register', { ...Node, Node: 'mine-3' })).status, 200)
})

void t.test('a name in other letters is the same name to its rule', async (t) => {
  const rules =
    'node_prefix "" { policy = "write" }\nservice_prefix "" { policy = "write" }\nservice "Api" { policy = "deny" }'
  const { asRoot, ask } = await guarded(t, rules)
  const node = { Node: 'one', Address: '10.0.0.1' }
  const register = (Service: string) =>
    ask('PUT', '/v1/catalog/register', { ...node, Service: { ID: 'x', Service } })
  for (const name of ['Api', 'api', 'API']) t.equal((await register(name)).status, 403, name)
  t.equal((await register('web')).status, 200)
  await asRoot('PUT', '/v1/catalog/register', { ...node, Service: { ID: 'y', Service: 'api' } })
  t.same(Object.keys((await ask('GET', '/v1/catalog/services')).json() as object), ['web'])
})

void t.test('a token of a service sees it in the lists that are of services alone', async (t) => {
  const { asRoot, ask } = await guarded(t, 'service "web" { policy = "write" }')
  const check = { TTL: '10s' }
  t.equal((await ask('PUT', '/v1/agent/service/register', { Name: 'web', check })).status, 200)
  await asRoot('PUT', '/v1/agent/service/register', { Name: 'db', check })
  await asRoot('PUT', '/v1/agent/check/register', { Name: 'disk', ...check })
  const names = async (url: string) => Object.keys((await ask('GET', url)).json() as object)
  t.same(await names('/v1/agent/services'), ['web'])
  t.same(await names('/v1/agent/checks'), ['service:web'])
  t.same(await names('/v1/catalog/services'), ['web'])
  t.same((await ask('GET', '/v1/health/service/web')).json(), [], 'with its node it is not shown')
})
