/**
 * A cluster that is all TLS by `muster tls bootstrap` and one line of configuration each, and members of its gossip pool
 * that say they are servers without a server's certificate.
 */
import { createServer as createPlain, type RequestListener } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { Server } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { GossipPool } from '../../src/member/gossip-pool.ts'
import { memberName, tagsOf } from '../../src/member/gossip-tags.ts'
import { Authority, writeTlsFiles } from '../support/certificates.ts'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const secret = 'a-secret-of-the-operator-0123456789abcdef'

/** What reached a server that is none. */
type Fake = { readonly name: string; readonly requests: string[] }

/** Joins the pool as a server whose API answers everything with 200. */
async function startFake(
  t: Test,
  cluster: Cluster,
  at: number,
  secure: { readonly cert: string; readonly key: string } | null,
): Promise<Fake> {
  const requests: string[] = []
  const answer: RequestListener = (request, response) => {
    requests.push(`${request.method} ${request.url} ${String(request.headers['x-service-token'])}`)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ Type: 'management', AccessorID: 'fake' }))
  }
  const server: Server = secure === null ? createPlain(answer) : createSecure(secure, answer)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve())
  })
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const name = `fake${at}`
  const pool = await GossipPool.start({
    name: memberName(name, 'global'),
    tags: tagsOf({
      id: `0000000${at}-0000-4000-8000-000000000000`,
      region: 'global',
      datacenter: 'dc1',
      rpcHost: '127.0.0.1',
      rpcPort: port,
      bootstrapExpect: 0,
      clusterId: '',
      version: '0.1.0',
      http: { secure: secure !== null, host: '127.0.0.1', port },
    }),
    dataFolder: t.testdir({}),
    bindAddress: '127.0.0.1',
    advertiseAddress: '127.0.0.1',
    port: 0,
    retryJoin: [`127.0.0.1:${cluster.server(0).spec.ports.gossip}`],
    encrypt: key,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    onFatal: (error) => t.fail(String(error)),
  })
  t.teardown(() => pool.stop())
  pool.search(() => Promise.resolve([]))
  return { name, requests }
}

void t.test('who gossips as a server gets no token and no request', async (t) => {
  const authority = await Authority.create()
  const folder = t.testdir()
  const files = await writeTlsFiles(folder, 's', authority.cert, await authority.issue())
  const tls = {
    rpc: true,
    http: true,
    ca_file: files.caFile,
    cert_file: files.certFile,
    key_file: files.keyFile,
  }
  const cluster = await startCluster(t, {
    gossip: true,
    ca: authority.cert,
    config: { tls, acl: { enabled: true, bootstrap_token: secret } },
    server: { encrypt: key },
    writeFirst: false,
  })
  const client = await startClientAgent(t, cluster, {
    ca: authority.cert,
    config: {
      tls: { ...tls, rpc: false },
      acl: { enabled: true, agent_token: secret },
      client: {
        enabled: true,
        encrypt: key,
        retry_join: [`127.0.0.1:${cluster.server(0).spec.ports.gossip}`],
      },
    },
  })
  const named = await authority.issue({ role: 'client' })
  const fakes = [
    await startFake(t, cluster, 1, null),
    await startFake(t, cluster, 2, { cert: named.cert, key: named.key }),
  ]
  const headers = { 'x-service-token': secret }
  await eventuallyTrue('the agent knows the fakes', async () => {
    const list = await client.http.json('GET', '/v1/agent/servers', { headers })
    return (list as string[]).length === 5
  })
  const put = () => client.http.request('PUT', '/v1/kv/a', { headers, body: 'x' })
  t.equal((await put()).status, 200)
  for (const at of cluster.all) await cluster.kill(at)
  // The agent now tries all that are left.
  await eventuallyTrue('nobody answers', async () => (await put()).status === 500)
  await client.http.request('GET', '/v1/agent/self', { headers })
  for (const { name, requests } of fakes) {
    t.same(requests, [], name)
  }
})
