/**
 * The composition root of a server: builds the parts in order, wires them, and takes them down in reverse. The domains are
 * those of the registry; nothing here knows which.
 */
import { OpsServer } from '../api/ops.ts'
import { serverDomains } from '../domains/registry.ts'
import { composeServer } from '../domains/server-parts.ts'
import { assert } from '../lib/assert.ts'
import { HeapGrowth } from '../lib/heap-growth.ts'
import { Services } from '../rpc/services.ts'
import { reachableApi } from '../runtime/listeners.ts'
import type { RuntimeDependencies, RunningProcess } from '../runtime/process.ts'
import type { ReloadableSettings } from '../runtime/reload.ts'
import { reloadAll } from '../runtime/reload-all.ts'
import { notYet, startCluster } from './cluster.ts'
import { catchUp, openFront } from './front.ts'
import { handOver } from './handover.ts'
import { Leadership } from './leadership.ts'
import { watchMemory } from './memory.ts'
import { membershipAnswers } from './peer-methods.ts'
import { loadClusterKeys, providedBy } from './provided.ts'
import { readAtStart } from './read-at-start.ts'
import { rpcWarningOf } from './rpc-tls.ts'
import type { ServerConfig } from './server-config.ts'
import { stateSender } from './state-transfer.ts'
import { Telemetry } from './telemetry.ts'

export type { ServerConfig } from './server-config.ts'

/**
 * A reload reads limits of clients and the audit log's settings, whose file is opened anew. A stop hands over leadership
 * and finishes open requests first.
 */
export type RunningServer = RunningProcess<'http' | 'rpc' | 'gossip' | 'ops', ReloadableSettings>

/** Requests under way when the server stops have this long to end. */
const drainMs = 5_000
/** What waited for this server to lead is served in 10 to 20 ms. */
const firstRequestsMs = 50

export async function startServer(
  config: ServerConfig,
  dependencies: RuntimeDependencies,
): Promise<RunningServer> {
  const { logger, clock } = dependencies
  await using opened = new AsyncDisposableStack()

  const { reloadable, listeners, tls } = await readAtStart(config, dependencies)
  const telemetry = new Telemetry(clock)
  opened.defer(() => telemetry.stop())
  const clusterKeys = await loadClusterKeys(config)

  /** Whether requests should come here: once all is up, until a stop or a failure. */
  let serving = false
  const answering = notYet()
  const onFatal = (error: unknown) => {
    serving = false
    dependencies.onFatal(error)
  }
  const cluster = await startCluster({
    config,
    dependencies,
    tls,
    times: telemetry.raftTimes,
    answering,
    onFatal,
    opened,
  })
  const { stack, disk, pool, membership, propose } = cluster
  const { node, machine } = stack

  const heapGrowth = new HeapGrowth()
  const memory = watchMemory({
    settings: config.server.memory,
    machine,
    heapGrowth,
    clock,
    logger: logger.named('memory'),
  })
  opened.defer(() => memory.stop())

  const services = new Services()
  services.provide(membershipAnswers, membership)
  services.provide(stateSender, node)
  const own = { config, dependencies, cluster, telemetry, opened }
  const parts = providedBy({ ...own, clusterKeys, reloadable, memory })
  const composed = composeServer(serverDomains, services, parts)
  const front = await openFront({ ...own, composed, services, heapGrowth })
  const { dispatcher, sent, audit, http } = front
  answering.call = dispatcher.handleForwarded
  answering.stream = dispatcher.handleStream

  opened.defer(() => composed.stop())
  await composed.start()
  opened.defer(machine.onReplaced(() => composed.replaced()))
  const { view } = parts
  const leadership = new Leadership({
    node,
    onReplaced: (listener) => machine.onReplaced(listener),
    firstRequestsMs,
    clock,
    logger,
    duties: composed.duties.map((duty) => ({
      name: duty.name,
      start: () => duty.start({ clock, log: logger, view, service: services.get, propose }),
    })),
  })
  opened.defer(() => leadership.stop())
  catchUp(dispatcher, opened)
  opened.defer(() => membership.stop())
  if (!dependencies.origin.dev) membership.start()
  pool?.search(() => membership.gossipOfMembers())

  const gossip = pool?.gossip ?? null
  telemetry.start({ stack, dispatcher, sent, http, audit, memory, domains: composed, gossip })
  // Before the API and after it: clients are told that this server starts or stops.
  const ops = new OpsServer({
    healthy: () => serving && stack.listening() && stack.storing() && disk.healthy,
    metrics: () => telemetry.text(),
  })
  opened.defer(() => ops.stop())
  const opsListeners = await listeners.open('ops', ops)
  opened.defer(() => http.stop(drainMs))
  const apis = await listeners.open('api', http)
  // With all its ports: where one is taken it starts again at others, and has begun no cluster at the first.
  if (dependencies.origin.dev) await membership.begin()
  machine.checkTables(onFatal)
  pool?.serves(reachableApi(apis, config.advertiseAddr))

  opened.defer(async () => {
    serving = false
    await handOver(node, clock, logger)
    if (pool === null || !config.leaveOnTerminate) return
    await membership.leave()
    await pool.leave()
  })

  const owned = opened.move()
  assert(!owned.disposed, 'what was opened is owned by the running server')
  serving = true
  // Not before: a start that the disk refuses is tried again and again.
  const openTo = rpcWarningOf(config.tls.rpc)
  if (openTo !== null) logger.warn(openTo)
  return {
    addresses: {
      http: apis.map(({ address }) => address).join(','),
      rpc: cluster.rpcAddress,
      gossip: pool?.endpoint ?? 'none',
      ops: opsListeners.map(({ address }) => address).join(','),
    },
    announceStop: () => {
      serving = false
    },
    reload: (readConfig) =>
      reloadAll([
        () => listeners.reload(),
        () => tls?.certificate.reload(),
        async () => reloadable.apply(await readConfig(), { http, audit, domains: composed }),
      ]),
    stop: () => owned.disposeAsync(),
  }
}
