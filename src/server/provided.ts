/** What a server provides to its domains: its cluster, its process and its configuration, as they declare to want them. */
import { join } from 'node:path'
import type { ServerParts } from '../domains/server-parts.ts'
import { ClusterKeys } from '../domains/variables/cluster-key.ts'
import { userEventPool } from '../gossip-pool/user-event-pool.ts'
import { nodeOfAgent } from '../runtime/agent-node.ts'
import type { RuntimeDependencies } from '../runtime/process.ts'
import type { Reloadable } from '../runtime/reload.ts'
import { resetFileIn } from './acl-reset.ts'
import { ServerCatalogLink } from './catalog-link.ts'
import type { Cluster } from './cluster.ts'
import { serverKnownNodes } from './known-nodes.ts'
import { serverProcessInfo, type ProcessInfoOptions } from './process-info.ts'
import { raftControl } from './raft-control.ts'
import type { ServerConfig } from './server-config.ts'
import { serverLink } from './server-link.ts'
import type { Telemetry } from './telemetry.ts'

export type ProvidedOptions = {
  readonly config: ServerConfig
  readonly dependencies: RuntimeDependencies
  readonly cluster: Cluster
  readonly clusterKeys: ClusterKeys
  readonly reloadable: Reloadable
  readonly telemetry: Telemetry
  readonly memory: ProcessInfoOptions['memory']
  /** Owns what is opened. */
  readonly opened: AsyncDisposableStack
}

/** Read before anything is opened: without its keys a server could not read what it has. */
export function loadClusterKeys({ dataDir, server }: ServerConfig): Promise<ClusterKeys> {
  return ClusterKeys.load(dataDir, server.keyringKeyFile)
}

export function providedBy(options: ProvidedOptions): ServerParts {
  const { config, dependencies, cluster, clusterKeys, reloadable, telemetry, opened } = options
  const { logger, clock, origin } = dependencies
  const { dataDir, region, datacenter, name } = config
  const { id, stack, pool, consensus, membership, autopilot, addressOf, propose } = cluster
  const { node, machine, link } = stack
  const view = () => machine.view()
  const gossip = pool?.gossip ?? null
  const catalogLink = new ServerCatalogLink({ consensus, link, view, propose, clock })
  opened.defer(() => catalogLink.stop())
  return {
    acl: { ...config.acl, resetFile: resetFileIn(dataDir) },
    clusterKeys,
    raft: raftControl({
      node,
      isGone: (serverId) => stack.isGone(serverId),
      pool: () => pool?.peers.known() ?? [],
      silentMs: 2 * config.server.raft.electionMs,
      clock,
    }),
    link: serverLink({ id, node, link, addressOf }),
    view,
    state: machine,
    reader: machine.reader(),
    readBarrier: (kind, waitMs, signal) =>
      consensus.readBarrier(kind, clock.monotonicMs() + waitMs, signal),
    exportRows: () => machine.exportRows(),
    commandVersion: cluster.commandVersion,
    restoreFolder: join(dataDir, 'restore'),
    snapshotSchedule: config.server.snapshots,
    agent: serverProcessInfo({
      id,
      config,
      reloadable,
      origin,
      node,
      commandVersion: cluster.commandVersion,
      gossip,
      rpcAddress: cluster.rpcAddress,
      memory: options.memory,
      logTap: dependencies.logTap,
      reload: dependencies.reload,
    }),
    health: () => autopilot.health(),
    members: {
      server: name,
      region,
      datacenter,
      pool: gossip,
      giveUp: (server) => membership.giveUp(server),
    },
    userEvents: gossip === null ? null : userEventPool(gossip),
    agents: serverKnownNodes({ gossip, node, config, clock }),
    definitions: reloadable.definitions,
    local: {
      node: nodeOfAgent(id, config, {
        version: origin.version,
        address: gossip?.local().address ?? config.advertiseAddr,
        gossip: null,
      }),
      dataFolder: dataDir,
      scripts: config.scriptChecks,
      link: catalogLink,
    },
    metrics: telemetry,
    nodes: { heartbeats: config.server.heartbeats, random: dependencies.random },
    applied: machine,
    events: {
      readersMax: config.limits.eventStreamsMax,
      eventsMax: config.limits.eventsKeptMax,
      bytesMax: config.limits.eventBytesKeptMax,
    },
    clock,
    log: logger,
  }
}
