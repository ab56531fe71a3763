/** Tokens of the token endpoints over three servers: uses count exactly, batch tokens are opened by all, a renewed token lives on. */
import t from 'tap'
import { steadyLeadership } from '../../support/cluster.ts'
import { serverOfThree } from '../../support/server-of-three.ts'
import type { Servers } from '../../support/servers.ts'
import { eventually } from '../../support/eventually.ts'

type Auth = { readonly client_token: string; readonly accessor: string }

async function ask(cluster: Servers, at: number, token: string | null, of: string, body?: object) {
  const [method = '', path = ''] = of.split(' ')
  const reply = await cluster.http(at).request(method, path, {
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(token !== null && { headers: { 'x-service-token': token } }),
  })
  return { status: reply.status, body: reply.body.toString() }
}

/** Answered, tried again while there is no leader or no key. */
function settled(cluster: Servers, at: number, token: string | null, of: string, body?: object) {
  return eventually(of, async () => {
    const answer = await ask(cluster, at, token, of, body)
    if (answer.status >= 500) return undefined
    if (answer.status !== 200) throw new Error(`${of}: ${answer.status} ${answer.body}`)
    return answer.body
  })
}

async function make(cluster: Servers, at: number, root: string, body: object): Promise<Auth> {
  const text = await settled(cluster, at, root, 'POST /v1/auth/token/create', body)
  return (JSON.parse(text) as { readonly auth: Auth }).auth
}

void t.test('uses count once over all servers, whichever is asked', async (t) => {
  const cluster = await serverOfThree(t, {
    config: { acl: { enabled: true } },
    raft: steadyLeadership,
    writeFirst: false,
  })
  const first = await settled(cluster, await cluster.follower(), null, 'PUT /v1/acl/bootstrap')
  const { SecretID: root } = JSON.parse(first) as { readonly SecretID: string }
  const follower = await cluster.follower()
  const rules = { Rules: 'key_prefix "" { policy = "write" }' }
  await settled(cluster, follower, root, 'PUT /v1/acl/policy/keys', rules)
  await settled(cluster, follower, root, 'PUT /v1/kv/a', {})

  const uses = 30
  const { client_token: token } = await make(cluster, follower, root, {
    policies: ['keys'],
    num_uses: uses,
  })
  const asked = Array.from({ length: 90 }, (_, number) => {
    const at = cluster.all[number % cluster.all.length] ?? 0
    const of = ['GET /v1/kv/a', `PUT /v1/kv/b${number}`, 'GET /v1/operator/raft/configuration']
    return ask(cluster, at, token, of[Math.floor(number / 3) % 3] ?? '', undefined)
  })
  const answers = await Promise.all(asked)
  const unknown = /ACL token not found/
  const refused = answers.filter(({ status, body }) => status === 403 && unknown.test(body))
  t.equal(refused.length, 90 - uses, 'exactly so many were served')
  t.same(new Set(answers.map(({ status }) => status)), new Set([200, 403]))
  for (const at of cluster.all) {
    t.equal((await ask(cluster, at, token, 'GET /v1/kv/a')).status, 403)
  }

  const batch = await make(cluster, follower, root, { type: 'batch', policies: ['keys'] })
  for (const at of cluster.all) {
    const mine = (of: string) => ask(cluster, at, batch.client_token, of)
    t.equal((await mine('GET /v1/kv/a')).status, 200, `${at} opens it`)
    t.equal((await mine(`PUT /v1/kv/batch${at}`)).status, 200)
    t.equal((await mine('GET /v1/acl/tokens')).status, 403)
  }

  const leased = await make(cluster, follower, root, { policies: ['keys'], ttl: '2s' })
  const longer = await make(cluster, follower, root, { policies: ['keys'], ttl: '2s' })
  const renewal = { token: longer.client_token, increment: '1h' }
  await settled(cluster, follower, root, 'POST /v1/auth/token/renew', renewal)
  for (const at of cluster.all) {
    await eventually(`its end on ${at}`, async () => {
      const { status } = await ask(cluster, at, leased.client_token, 'GET /v1/kv/a')
      return status === 403 ? true : undefined
    })
    t.equal((await ask(cluster, at, longer.client_token, 'GET /v1/kv/a')).status, 200)
  }
})
