/** This server as the agent's endpoints show it. */
import type { AgentMember, AgentStats, ProcessInfo } from '../domains/process/process-info.ts'
import type { GossipNode } from '../gossip/gossip.ts'
import { clientOf } from '../gossip-pool/tags.ts'
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
  type AgentSettings,
} from '../runtime/shown-config.ts'
import { rpcWarningOf } from './rpc-tls.ts'
import type { Raft } from '../raft/raft.ts'

export type ProcessInfoOptions = {
  readonly id: string
  readonly config: AgentSettings
  readonly reloadable: Reloadable
  readonly origin: AgentOrigin
  readonly node: Raft
  /** That the cluster runs at. */
  readonly commandVersion: () => number
  readonly memory: { readonly warning: string | null }
  /** Null: this server takes part in no gossip. */
  readonly gossip: Pick<GossipNode, 'local' | 'members' | 'counters' | 'encrypted'> | null
  /** host:port of the RPC listener, as others reach it. */
  readonly rpcAddress: string
  readonly logTap: LogTap
  readonly reload: () => Promise<string | null>
}

/** What is shown of a server without gossip. */
const protocol = { min: 1, max: 5, current: 2 }
const delegate = { min: 2, max: 5, current: 4 }

export function serverProcessInfo(options: ProcessInfoOptions): ProcessInfo {
  const { config, node, logTap } = options
  return {
    config: () =>
      shownConfig({
        ...options,
        ...options.reloadable.settings,
        electionTimeoutMs: () => node.status().electionTimeoutMs,
      }),
    member: () => memberOf(options),
    stats: () => statsOf(options),
    health: () => ({
      side: 'server',
      problem: node.status().leaderId === null ? 'no leader' : null,
      warning: joined([rpcWarningOf(config.tls.rpc), options.memory.warning]),
    }),
    servers: null,
    leads: () => node.status().role === 'leader',
    regions: () => regionsOf(config.region, options.gossip),
    clientNamed: (name) => {
      const member = options.gossip?.members().find((one) => one.name === name)
      return member === undefined ? null : (clientOf(member, config.region)?.id ?? null)
    },
    log: logTap,
    reload: options.reload,
    enableDebug: config.enableDebug,
    accessControl: config.acl.enabled,
    schedulers: {
      count: config.server.numSchedulers,
      enabled: config.server.enabledSchedulers,
    },
  }
}

function joined(warnings: readonly (string | null)[]): string | null {
  const said = warnings.filter((warning) => warning !== null)
  return said.length === 0 ? null : said.join('; ')
}

function memberOf(options: ProcessInfoOptions): AgentMember {
  const { id, config, origin, rpcAddress, gossip } = options
  if (gossip !== null) return memberOfGossip(gossip.local())
  return {
    name: `${config.name}.${config.region}`,
    address: config.advertiseAddr,
    port: config.ports.gossip,
    tags: {
      role: 'muster',
      region: config.region,
      dc: config.datacenter,
      id,
      port: rpcAddress.slice(rpcAddress.lastIndexOf(':') + 1),
      build: origin.version,
    },
    status: 'alive',
    protocol,
    delegate,
  }
}

const stateNames = {
  follower: 'Follower',
  preCandidate: 'Candidate',
  candidate: 'Candidate',
  leader: 'Leader',
} as const

function statsOf(options: ProcessInfoOptions): AgentStats {
  const { config, node } = options
  const status = node.status()
  const { members } = status.configuration
  const leader = members.find(({ id }) => id === status.leaderId)
  const contactMs = node.lastContactMs()
  const server = {
    server: 'true',
    leader: String(status.role === 'leader'),
    leader_addr: leader?.address ?? '',
    bootstrap: String(config.server.bootstrapExpect === 1),
    known_regions: String(regionsOf(config.region, options.gossip).length),
    command_version: String(options.commandVersion()),
  }
  return {
    muster: server,
    // Nomad's tools look for the section under this name.
    ...(config.headerAliases.includes('nomad') ? { nomad: server } : {}),
    raft: {
      state: stateNames[status.role],
      term: String(status.term),
      last_log_index: String(status.lastIndex),
      commit_index: String(status.commitIndex),
      applied_index: String(status.appliedIndex),
      fsm_pending: String(Math.max(0, status.commitIndex - status.appliedIndex)),
      last_contact: Number.isFinite(contactMs) ? formatDurationMs(Math.round(contactMs)) : 'never',
      num_peers: String(Math.max(0, members.filter(({ role }) => role === 'voter').length - 1)),
      latest_configuration: JSON.stringify(members),
      latest_configuration_index: String(status.configurationIndex),
      protocol_version: '3',
    },
    ...(options.gossip === null ? {} : { serf: gossipStats(options.gossip) }),
    runtime: runtimeStats(),
  }
}
