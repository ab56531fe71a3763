/**
 * A cluster that is all TLS by `muster tls bootstrap` and one line of configuration each, and members of its gossip pool
 * that say they are servers without a server's certificate.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer as createPlain, type RequestListener } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { Server } from 'node:net'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { GossipPool } from '../../src/gossip-pool/pool.ts'
import { memberName, tagsOf } from '../../src/gossip-pool/tags.ts'
import { authorityFile } from '../../src/tls/certificates.ts'
import { run } from '../cli/terminal.ts'
import { ask } from '../support/ask.ts'
import { startClientAgent, type ClientAgent } from '../support/client-agent.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import type { Reply } from '../support/http-client.ts'
import { knock } from '../support/rpc-tls.ts'
import { writtenFolder } from '../support/written-folder.ts'

const key = Buffer.alloc(32, 7).toString('base64')
const secret = 'a-secret-of-the-operator-0123456789abcdef'

/** What reached a server that is none. */
type Fake = { readonly name: string; readonly address: string; readonly requests: string[] }

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
    dataFolder: writtenFolder(t),
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
  return { name, address: `127.0.0.1:${port}`, requests }
}

void t.test(
  'a cluster by muster tls bootstrap, and members that only say they are servers',
  async (t) => {
    const dir = join(t.testdir(), 'tls')
    t.match(await run(['tls', 'bootstrap', '-dir', dir]), { code: 0, err: '' })
    const caFile = join(dir, 'authority', authorityFile)
    const ca = await readFile(caFile, 'utf8')
    const byFolder = (holder: string) => ({ tls: { folder: join(dir, holder) } })
    const cluster = await startCluster(t, {
      gossip: true,
      ca,
      config: { acl: { enabled: true, bootstrap_token: secret } },
      configOf: (at) => byFolder(`server-${at + 1}`),
      server: { encrypt: key },
      writeFirst: false,
    })
    const retryJoin = [`127.0.0.1:${cluster.server(0).spec.ports.gossip}`]
    const client = await startClientAgent(t, cluster, {
      ca,
      config: {
        ...byFolder('client'),
        acl: { enabled: true, agent_token: secret },
        client: { enabled: true, encrypt: key, retry_join: retryJoin },
      },
    })
    const headers = { 'x-service-token': secret }
    const put = () => client.http.request('PUT', '/v1/kv/a', { headers, body: 'x' })
    await everythingWorks(t, { cluster, client, ca, caFile, put })

    const pem = (name: string) => readFile(join(dir, 'client', name), 'utf8')
    const ofClient = { cert: await pem('cert.pem'), key: await pem('key.pem') }
    const fakes = [await startFake(t, cluster, 1, null), await startFake(t, cluster, 2, ofClient)]
    await eventuallyTrue('the agent knows the fakes', async () => {
      const list = await client.http.json('GET', '/v1/agent/servers', { headers })
      return (list as string[]).length === 5
    })
    for (const { address } of fakes) {
      const named = await client.http.request('PUT', `/v1/agent/servers?address=${address}`, {
        headers,
      })
      t.match([named.status, named.body.toString()], [400, /the list stays as it was/])
    }
    for (const at of cluster.all) await cluster.kill(at)
    // The agent now tries all that are left: the fakes.
    await eventuallyTrue('no server answers', async () => (await put()).status === 500)
    await client.http.request('GET', '/v1/agent/self', { headers: { 'x-service-token': 'other' } })
    await opensWebSocket(client.process.spec.ports.http, ca).catch(() => {})
    const log = await client.process.logTail(10_000)
    const refusals = [/it does not speak TLS/, /DNS:client\.global\.muster.*shows server\.global/]
    for (const [at, { name, requests, address }] of fakes.entries()) {
      t.same(requests, [], `${name} got nothing`)
      const lines = log.split('\n').filter((line) => line.includes(`server=${address}`))
      t.match(lines.join('\n'), refusals[at])
    }
  },
)

type Running = {
  readonly cluster: Cluster
  readonly client: ClientAgent
  readonly ca: string
  readonly caFile: string
  readonly put: () => Promise<Reply>
}

async function everythingWorks(t: Test, { cluster, client, ca, caFile, put }: Running) {
  await eventuallyTrue('a write through the client agent', async () => (await put()).status === 200)
  const { http, rpc } = cluster.server(0).spec.ports
  const headers = { 'x-service-token': secret }
  const read = await cluster.http(0).request('GET', '/v1/kv/a?raw', { headers })
  t.equal(read.body.toString(), 'x')
  t.match(await cluster.http(0).json('GET', '/v1/agent/health'), {
    server: { ok: true, detail: undefined },
  })
  t.match(await client.http.json('GET', '/v1/agent/health'), {
    client: { ok: true, detail: undefined },
  })
  t.notMatch(await cluster.logs(), /RPC is open/)
  await eventuallyTrue('the agent is registered', async () => {
    const { status } = await cluster.http(1).request('GET', '/v1/health/node/c1', { headers })
    return status === 200
  })
  await opensWebSocket(client.process.spec.ports.http, ca)
  for (const port of [http, client.process.spec.ports.http]) {
    const status = await run(['status', '-address', `https://127.0.0.1:${port}`], {
      env: { MUSTER_CACERT: caFile, MUSTER_TOKEN: secret },
    })
    t.match(status, { code: 0, out: /Servers = 3, 3 of them voters/ })
  }
  await t.rejects(ask(http, 'GET', '/v1/status/leader'), 'plain HTTP is not served')
  t.match(await knock(cluster, 0, null), 'hung up without a word', `nor plain RPC at ${rpc}`)
}

async function opensWebSocket(port: number, ca: string): Promise<void> {
  const websocket = new WebSocket(`wss://127.0.0.1:${port}/v1/event/stream`, {
    headers: { 'x-service-token': secret },
    perMessageDeflate: false,
    maxPayload: 1_048_576,
    handshakeTimeout: 10_000,
    secureContext: createSecureContext({ ca }),
  })
  await once(websocket, 'open')
  websocket.terminate()
}
