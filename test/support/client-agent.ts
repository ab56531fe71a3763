/** A client agent beside a cluster under test: a real process that finds the servers by gossip. */
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Cluster } from './cluster.ts'
import { eventually } from './eventually.ts'
import { freePorts } from './free-ports.ts'
import { HttpClient } from './http-client.ts'
import { ServerProcess } from './server-process.ts'

const shownLines = 60

export type ClientAgent = { readonly process: ServerProcess; readonly http: HttpClient }

export type ClientAgentOptions = {
  readonly name?: string
  /** Keys of its configuration, beside those that make it a client agent of the cluster. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Of its `client` block, beside where it finds the servers. */
  readonly client?: Readonly<Record<string, unknown>>
  /** The authority in PEM of an agent whose API speaks HTTPS. */
  readonly ca?: string
}

/** Resolves once it knows a server. Stopped with the test, its log shown when that fails. */
export async function startClientAgent(
  t: Test,
  cluster: Cluster,
  { name = 'c1', config = {}, client: block = {}, ca }: ClientAgentOptions = {},
): Promise<ClientAgent> {
  const [http = 0, rpc = 0, gossip = 0, ops = 0] = await freePorts(4)
  const process = new ServerProcess({
    name,
    folder: cluster.folder,
    ports: { http, rpc, gossip, ops },
    pidFile: join(cluster.folder, 'pids'),
    config: {
      log_level: 'debug',
      client: {
        enabled: true,
        retry_join: cluster.servers.map(({ spec }) => `127.0.0.1:${spec.ports.gossip}`),
        ...block,
      },
      ...config,
    },
  })
  const client: ClientAgent = { process, http: new HttpClient(http, undefined, undefined, ca) }
  t.teardown(async () => {
    client.http.close()
    await process.kill()
    if (!t.passing()) t.comment(`--- ${name}\n${await process.logTail(shownLines)}`)
  })
  await process.start()
  await knowsServers(client)
  return client
}

/** Waits until it has somebody to pass requests on to. */
export async function knowsServers({ process, http }: ClientAgent): Promise<void> {
  await eventually(`${process.spec.name} knows servers`, async () => {
    const { status } = await http.request('GET', '/v1/agent/health')
    return status === 200 ? true : undefined
  })
}
