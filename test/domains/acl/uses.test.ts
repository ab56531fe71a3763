/** Tokens with a limited number of uses: each request counts once, whatever it asks and however it ends; the last one is served. */
import t from 'tap'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

async function started(t: Parameters<typeof serverOfOne>[0]) {
  const server = await serverOfOne(t, {
    acl: { enabled: true, defaultPolicy: 'deny' },
    begin: false,
  })
  const made = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = made.json() as { readonly SecretID: string }
  await server.ask(
    'PUT',
    '/v1/acl/policy/keys',
    { Rules: 'key_prefix "" { policy = "write" }' },
    root,
  )
  return { server, root }
}

async function counted(server: ServerOfOne, root: string, uses: number, more: object = {}) {
  const body = { policies: ['keys'], num_uses: uses, ...more }
  const answer = await server.ask('POST', '/v1/auth/token/create', body, root)
  const { auth } = answer.json() as {
    readonly auth: { readonly client_token: string; readonly accessor: string }
  }
  return auth
}

async function usesLeft(server: ServerOfOne, root: string, accessor: string) {
  const answer = await server.ask('POST', '/v1/auth/token/lookup-accessor', { accessor }, root)
  if (answer.status !== 200) return answer.status
  return (answer.json() as { readonly data: { readonly num_uses: number } }).data.num_uses
}

void t.test('requests that are allowed, refused, wrong and for nothing count alike', async (t) => {
  const { server, root } = await started(t)
  const { client_token: token, accessor } = await counted(server, root, 7)
  const table: readonly (readonly [method: string, url: string, body: unknown, status: number])[] =
    [
      ['PUT', '/v1/kv/a', 'x', 200],
      ['GET', '/v1/kv/a', undefined, 200],
      ['GET', '/v1/kv/nothing', undefined, 404],
      ['GET', '/v1/operator/raft/configuration', undefined, 403],
      ['PUT', '/v1/session/create', 'no json', 400],
      ['GET', '/v1/auth/token/lookup-self', undefined, 200],
    ]
  let left = 7
  for (const [method, url, body, status] of table) {
    const answer = await server.ask(method, url, body, token)
    t.equal(answer.status, status, `${method} ${url}: ${answer.body}`)
    left -= 1
    t.equal(await usesLeft(server, root, accessor), left, `after ${method} ${url}`)
  }
  t.equal((await server.ask('PUT', '/v1/kv/a', 'y', token)).status, 200, 'the last one is served')
  t.equal((await server.ask('GET', '/v1/kv/a', undefined, token)).status, 403)
  t.equal(await usesLeft(server, root, accessor), 403)
  t.equal((await server.ask('GET', `/v1/acl/token/${accessor}`, undefined, root)).status, 404)
  const listed = await server.ask('GET', '/v1/acl/tokens', undefined, root)
  t.notOk(listed.body.includes(accessor))
})

void t.test('many requests at once are served as often as the token has uses', async (t) => {
  const { server, root } = await started(t)
  const uses = 10
  const { client_token: token } = await counted(server, root, uses)
  const asked = Array.from({ length: 40 }, (_, number) =>
    number % 2 === 0
      ? server.ask('GET', '/v1/kv/a', undefined, token)
      : server.ask('PUT', `/v1/kv/${number}`, 'x', token),
  )
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status !== 403).length, uses)
  t.equal(statuses.filter((status) => status === 403).length, 30)
})

void t.test('a request from outside of the networks costs nothing', async (t) => {
  const { server, root } = await started(t)
  const role = { allowed_policies: ['keys'], token_bound_cidrs: '192.0.2.0/24', token_num_uses: 2 }
  await server.ask('POST', '/v1/auth/token/roles/far', role, root)
  const made = await server.ask('POST', '/v1/auth/token/create/far', {}, root)
  const { auth } = made.json() as { readonly auth: { client_token: string; accessor: string } }
  const answer = await server.ask('GET', '/v1/kv/a', undefined, auth.client_token)
  t.equal(answer.status, 403)
  t.equal(await usesLeft(server, root, auth.accessor), 2)
})

void t.test('a blocking query counts once, however often it wakes', async (t) => {
  const { server, root } = await started(t)
  await server.ask('PUT', '/v1/kv/a', 'x', root)
  const { client_token: token, accessor } = await counted(server, root, 2)
  const first = await server.ask('GET', '/v1/kv/a', undefined, token)
  const index = Number(first.headers['x-service-index'])
  const waiting = server.ask('GET', `/v1/kv/a?index=${index}&wait=60s`, undefined, token)
  while (server.parked() === 0) await new Promise((resolve) => setImmediate(resolve))
  t.equal(await usesLeft(server, root, accessor), 403, 'it has the last use')
  await server.ask('PUT', '/v1/kv/a', 'y', root)
  t.equal((await waiting).status, 200)
})
