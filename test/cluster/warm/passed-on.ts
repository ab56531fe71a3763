/**
 * Requests through a client agent: to the servers they are the client's, by its address, where the agent proves that it is one. A
 * client that only says so is taken for what it is.
 */
import { networkInterfaces } from 'node:os'
import type { Test } from 'tap'
import { headersOfAgent } from '../../../src/api/passed-on.ts'
import { auditLines } from '../../support/audit-lines.ts'
import { startClientAgent } from '../../support/client-agent.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { HttpClient } from '../../support/http-client.ts'
import type { WarmTokens } from '../../support/warm-cluster.ts'

const name = 'passes-on'
/** An address of this machine that others could have: an agent says nothing of clients on its loopback. */
const inside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
const outside = '127.0.0.3'

export const noAddress = inside === undefined && 'this machine has no address but its loopback'

export async function addressesCount(t: Test, { cluster, root }: WarmTokens): Promise<void> {
  if (inside === undefined) return
  const server = cluster.http(0)
  const asRoot = async (method: string, path: string, body: unknown) => {
    const headers = { 'x-service-token': root }
    const reply = await server.request(method, path, { headers, body: JSON.stringify(body) })
    t.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.body.toString()}`)
    return JSON.parse(reply.body.toString() || 'null') as unknown
  }
  const tokenWith = async (policy: string, Rules: string): Promise<string> => {
    await asRoot('PUT', `/v1/acl/policy/${policy}`, { Rules })
    const token = await asRoot('PUT', '/v1/acl/token', { Policies: [policy] })
    return (token as { readonly SecretID: string }).SecretID
  }
  const agentToken = await tokenWith('agents', `node "${name}" { policy = "write" }`)
  await asRoot('PUT', '/v1/acl/policy/reader', { Rules: 'key_prefix "" { policy = "read" }' })
  const role = { allowed_policies: 'reader', token_bound_cidrs: `${inside}/32` }
  await eventuallyTrue('the cluster is at the version that knows roles', async () => {
    const options = { headers: { 'x-service-token': root }, body: JSON.stringify(role) }
    return (await server.request('POST', '/v1/auth/token/roles/near', options)).status === 204
  })
  const made = await asRoot('POST', '/v1/auth/token/create/near', { policies: ['reader'] })
  const bound: string = (made as { readonly auth: { readonly client_token: string } }).auth
    .client_token
  await asRoot('PUT', '/v1/kv/a', 'b')

  const config = { acl: { enabled: true, agent_token: agentToken }, audit: { enabled: true } }
  const agent = await startClientAgent(t, cluster, { name, config })
  const from = (address: string, port: number): HttpClient => {
    const http = new HttpClient(port, undefined, address)
    t.teardown(() => http.close())
    return http
  }
  const status = async (http: HttpClient, more: Readonly<Record<string, string>> = {}) => {
    const headers = { 'x-service-token': bound, ...more }
    return (await http.request('GET', '/v1/kv/a', { headers })).status
  }
  const { http: agentPort } = agent.process.spec.ports
  const { http: serverPort } = cluster.server(0).spec.ports
  const near = from(inside, agentPort)
  const far = from(outside, agentPort)
  t.equal(await status(near, { 'x-request-id': 'through-the-agent' }), 200)
  t.equal(await status(far), 403)
  // What the agent answers itself is judged alike, whoever came first.
  for (const [http, expected] of [
    [far, 403],
    [near, 200],
    [far, 403],
  ] as const) {
    const headers = { 'x-service-token': bound }
    t.equal((await http.request('GET', '/v1/agent/services', { headers })).status, expected)
  }

  const forged = headersOfAgent({ node: name, token: bound }, inside)
  const direct = from(outside, serverPort)
  t.equal(await status(direct, forged), 403, 'its own token does not make an agent')
  t.equal(await status(direct, { ...forged, 'x-service-agent-token': root.slice(1) }), 403)
  t.equal(await status(direct, { 'x-service-caller': inside, 'x-forwarded-for': inside }), 403)
  t.equal(await status(far, forged), 403, 'an agent passes nobody else’s word on')
  t.equal(await status(far, headersOfAgent({ node: name, token: root }, inside)), 403)

  await eventuallyTrue('the server’s log has the address of the client', async () => {
    const lines = await auditLines(cluster.server(0))
    return lines.some(({ id, remote }) => id === 'through-the-agent' && remote === inside)
  })
  for (const text of [
    await cluster.server(0).logTail(10_000),
    await agent.process.logTail(10_000),
    JSON.stringify(await auditLines(cluster.server(0))),
  ]) {
    t.notOk(text.includes(agentToken), 'no log holds the agent’s token')
  }
}
