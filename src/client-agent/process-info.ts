/** This client agent as the agent's endpoints show it. */
import type { KnownServers, ProcessInfo } from '../domains/process/process-info.ts'
import type { GossipNode } from '../gossip/gossip.ts'
import { formatDurationMs } from '../lib/duration.ts'
import type { LogTap } from '../lib/log.ts'
import type { Reloadable } from '../runtime/reload.ts'
import {
  gossipStats,
  memberOfGossip,
  regionsOf,
  runtimeStats,
  shownConfig,
  type AgentOrigin,
} from '../runtime/shown-config.ts'
import type { ClientConfig } from './client-config.ts'

export type ProcessInfoOptions = {
  readonly id: string
  readonly config: ClientConfig
  readonly reloadable: Reloadable
  readonly origin: AgentOrigin
  readonly gossip: Pick<GossipNode, 'local' | 'members' | 'counters' | 'encrypted'>
  readonly servers: KnownServers
  /** See `UplinkKeeper.beat`. */
  readonly beat: () => { readonly ttlMs: number; readonly agoMs: number } | null
  /** Allocations that run here. */
  readonly liveCount: () => number
  /** Why tokens are not safe on their way to the servers; null: they are. */
  readonly warning: string | null
  readonly logTap: LogTap
  readonly reload: () => Promise<string | null>
}

export function clientProcessInfo(options: ProcessInfoOptions): ProcessInfo {
  const { id, config, reloadable, origin, gossip, servers, warning, logTap } = options
  return {
    config: () => shownConfig({ config, ...reloadable.settings, origin, rpcAddress: '' }),
    member: () => memberOfGossip(gossip.local()),
    stats: () => ({
      client: {
        node_id: id,
        known_servers: servers.list().join(','),
        num_allocations: String(options.liveCount()),
        ...heartbeatOf(options.beat()),
      },
      serf: gossipStats(gossip),
      runtime: runtimeStats(),
    }),
    health: () => ({
      side: 'client',
      problem: servers.list().length === 0 ? 'no known servers' : null,
      warning,
    }),
    servers,
    leads: () => false,
    regions: () => regionsOf(config.region, gossip),
    // What names another agent goes to a server.
    clientNamed: () => null,
    log: logTap,
    reload: options.reload,
    enableDebug: config.enableDebug,
    accessControl: config.acl.enabled,
    schedulers: null,
  }
}

function heartbeatOf(beat: ReturnType<ProcessInfoOptions['beat']>) {
  if (beat === null) return {}
  const { ttlMs, agoMs } = beat
  return { heartbeat_ttl: formatDurationMs(ttlMs), last_heartbeat: formatDurationMs(agoMs) }
}
