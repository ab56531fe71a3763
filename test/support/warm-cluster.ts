/**
 * One cluster for suites that break nothing: three servers with their defaults, and two client agents that run tasks. Each suite
 * uses names of its own, and ends what it began.
 */
import type { Test } from 'tap'
import { startClientAgent, type ClientAgent } from './client-agent.ts'
import { startCluster, type Cluster } from './cluster.ts'
import { eventuallyTrue } from './eventually.ts'

export type WarmCluster = {
  readonly cluster: Cluster
  readonly agents: readonly ClientAgent[]
}

/** Begun by the first suite of the file, stopped with the file. */
export function warmCluster(file: Test): () => Promise<WarmCluster> {
  let started: Promise<WarmCluster> | null = null
  return () => (started ??= start(file))
}

async function start(file: Test): Promise<WarmCluster> {
  const cluster = await startCluster(file, { gossip: true })
  const config = { plugin: { raw_exec: { config: { enabled: true } } } }
  const agents: ClientAgent[] = []
  for (const name of ['c1', 'c2']) {
    agents.push(await startClientAgent(file, cluster, { name, config }))
  }
  await eventuallyTrue('both nodes are ready', async () => {
    const nodes = (await cluster.http(0).json('GET', '/v1/nodes')) as readonly { Status: string }[]
    return nodes.filter(({ Status }) => Status === 'ready').length === agents.length
  })
  return { cluster, agents }
}

export type WarmTokens = {
  readonly cluster: Cluster
  /** A management token. */
  readonly root: string
}

const root = 'the-first-SECRET.0123456789abcdef0123456789'

/** As `warmCluster`: one server with access control and an audit log, and no client agent. */
export function warmTokens(file: Test): () => Promise<WarmTokens> {
  let started: Promise<WarmTokens> | null = null
  return () => (started ??= startWithTokens(file))
}

async function startWithTokens(file: Test): Promise<WarmTokens> {
  const cluster = await startCluster(file, {
    servers: 1,
    gossip: true,
    config: { acl: { enabled: true, bootstrap_token: root }, audit: { enabled: true } },
    writeFirst: false,
  })
  await eventuallyTrue('the first token is there', async () => {
    const headers = { 'x-service-token': root }
    return (await cluster.http(0).request('GET', '/v1/acl/token/self', { headers })).status === 200
  })
  return { cluster, root }
}
