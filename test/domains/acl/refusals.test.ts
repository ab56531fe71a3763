/** What a refusal tells: one line of bounded length, the right that is missing, and nothing of what there is. */
import t, { type Test } from 'tap'
import { nameShownMax } from '../../../src/domains/acl/authorize.ts'
import { serverOfOne } from '../server-of-one.ts'

async function begun(t: Test) {
  const server = await serverOfOne(t, { begin: false, acl: { enabled: true } })
  const { SecretID: root } = (await server.ask('PUT', '/v1/acl/bootstrap')).json() as {
    SecretID: string
  }
  const rules = 'agent { policy = "read" }'
  await server.ask('PUT', '/v1/acl/policy/p', { Rules: rules }, root)
  const made = await server.ask('PUT', '/v1/acl/token', { Policies: ['p'] }, root)
  const mine = made.json() as { SecretID: string; AccessorID: string }
  const refused = async (method: string, url: string, body?: unknown) => {
    const answer = await server.ask(method, url, body, mine.SecretID)
    t.equal(answer.status, 403, `${method} ${url}`)
    return answer.body.replace(/, request \S+$/, '')
  }
  return { server, root, mine, refused }
}

void t.test('names of the caller stand in one line, escaped and cut', async (t) => {
  const { refused, mine } = await begun(t)
  const lacks = `Permission denied: token with AccessorID '${mine.AccessorID}' lacks permission`
  const named = async (name: string, query = '') =>
    refused('GET', `/v1/kv/${encodeURIComponent(name)}${query}`)
  t.equal(await named('app/"x"'), `${lacks} 'key:read' on "app/\\"x\\""`)
  t.equal(await refused('DELETE', '/v1/kv/a?recurse'), `${lacks} 'key:write' on "a*"`)
  t.equal(await named('a', '?ns=team'), `${lacks} 'key:read' on "a" in namespace "team"`)
  t.equal(await named('k'.repeat(500)), `${lacks} 'key:read' on "${'k'.repeat(nameShownMax)}"`)
  // A line separator and an override of the writing direction: JSON escapes neither.
  const odd = await named('a', `?ns=${encodeURIComponent(`n"\n\u2028n\u202e${'n'.repeat(100)}`)}`)
  t.equal(odd, `${lacks} 'key:read' on "a" in namespace "n\\"\\n n ${'n'.repeat(100)}"`)
})

void t.test('a refusal is the same whether or not the thing exists', async (t) => {
  const { server, root, refused } = await begun(t)
  await server.ask('PUT', '/v1/kv/there', 'value', root)
  await server.ask('PUT', '/v1/catalog/register', { Node: 'one', Address: '192.0.2.1' }, root)
  const session = await server.ask('PUT', '/v1/session/create', { Checks: [] }, root)
  t.equal(session.status, 200, session.body)
  const { ID } = session.json() as { ID: string }
  const web = { ID: 'there', Name: 'web', Checks: [] }
  t.equal((await server.ask('PUT', '/v1/agent/service/register', web, root)).status, 200)
  const check = { ID: 'there', Name: 'there', TTL: '10s' }
  t.equal((await server.ask('PUT', '/v1/agent/check/register', check, root)).status, 200)
  const absent = ID.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
  for (const [method, path, there = 'there', other = 'gone'] of [
    ['GET', '/v1/kv/:name'],
    ['PUT', '/v1/session/destroy/:name', ID, absent],
    ['PUT', '/v1/session/renew/:name', ID, absent],
    ['PUT', '/v1/agent/service/deregister/:name'],
    ['PUT', '/v1/agent/check/pass/:name'],
    ['GET', '/v1/agent/service/:name'],
    ['PUT', '/v1/agent/service/maintenance/:name?enable=true'],
  ] as const) {
    const [one, two] = [there, other].map((name) => refused(method, path.replace(':name', name)))
    t.equal((await one)?.replace(there, other), await two, `${method} ${path}`)
  }
})

void t.test(
  'a wait or a stream that can show nothing is refused by the rights it lacks',
  async (t) => {
    const { server, mine, refused } = await begun(t)
    t.match(await refused('GET', '/v1/kv/a?recurse&index=5'), / lacks permission 'key:read'$/)
    t.match(await refused('GET', '/v1/catalog/nodes?index=5'), / lacks permission 'node:read'$/)
    const { status, body } = await server.open(
      '/v1/event/stream?topic=Node&topic=KV',
      mine.SecretID,
    )
    t.equal(status, 403)
    const texts: string[] = []
    for await (const piece of body) texts.push(String(piece))
    t.match(texts.join(''), / lacks permission 'node:read' or 'key:read', request \S+$/)
  },
)
