/** This process as the agent's endpoints show it: configuration without secrets, membership, figures as text. */
import { arch, availableParallelism, cpus, type as kernelType } from 'node:os'
import { redacted } from '../domains/agent/redaction.ts'
import type { AgentMember, AgentStats, ThisAgent } from '../domains/agent/this-agent.ts'
import type { GossipNode, MemberView } from '../gossip/door.ts'
import { formatDurationMs } from '../lib/duration.ts'
import type { LogLevel, LogTap } from '../lib/log.ts'
import type { RaftNode } from '../raft/node.ts'
import type { Reloadable } from './reload.ts'

/** Where this process comes from. */
export type AgentOrigin = {
  /** Of the program. */
  readonly version: string
  readonly dev: boolean
  /** Files and folders of the configuration. */
  readonly files: readonly string[]
}

/** What is shown of the configuration; a server's configuration fits. */
export type AgentSettings = {
  readonly name: string
  readonly region: string
  readonly datacenter: string
  readonly dataDir: string
  readonly bindAddr: string
  readonly advertiseAddr: string
  readonly ports: {
    readonly http: number
    readonly rpc: number
    readonly gossip: number
    readonly ops: number
  }
  readonly listeners: readonly { readonly purpose: string; readonly tls: object | null }[]
  readonly tls: {
    readonly rpc: {
      readonly caFile: string
      readonly certFile: string
      readonly keyFile: string
      readonly verifyServerHostname: boolean
      readonly upgradeMode: boolean
      readonly minVersion: string
    } | null
    readonly http: {
      readonly certFile: string
      readonly keyFile: string
      readonly minVersion: string
    } | null
  }
  readonly logLevel: LogLevel
  readonly logJson: boolean
  readonly enableDebug: boolean | null
  readonly leaveOnTerminate: boolean
  readonly headerAliases: readonly string[]
  readonly acl: {
    readonly enabled: boolean
    readonly defaultPolicy: 'allow' | 'deny'
    readonly bootstrapToken: string | null
  }
  readonly server: {
    readonly bootstrapExpect: number
    readonly gossip: {
      readonly retryJoin: readonly string[]
      readonly encrypt: string | null
    } | null
    readonly keyringKeyFile: string | null
    readonly numSchedulers: number | null
    readonly enabledSchedulers: readonly string[] | null
    readonly raft: { readonly electionMs: number; readonly heartbeatMs: number }
  }
}

export type ThisAgentOptions = {
  readonly id: string
  readonly config: AgentSettings
  readonly reloadable: Reloadable
  readonly origin: AgentOrigin
  readonly node: RaftNode
  /** That the cluster runs at. */
  readonly commandVersion: () => number
  /** Null: this server takes part in no gossip. */
  readonly gossip: Pick<GossipNode, 'local' | 'members' | 'counters' | 'encrypted'> | null
  /** host:port of the RPC listener, as others reach it. */
  readonly rpcAddress: string
  readonly logTap: LogTap
}

/** What is shown of a server without gossip. */
const protocol = { min: 1, max: 5, current: 2 }
const delegate = { min: 2, max: 5, current: 4 }

export function describeAgent(options: ThisAgentOptions): ThisAgent {
  const { config, node, logTap } = options
  return {
    config: () => shownConfig(options),
    member: () => memberOf(options),
    stats: () => statsOf(options),
    knowsLeader: () => node.status().leaderId !== null,
    leads: () => node.status().role === 'leader',
    regions: () => regionsOf(options),
    log: logTap,
    enableDebug: config.enableDebug,
    accessControl: config.acl.enabled,
    schedulers: {
      count: config.server.numSchedulers,
      enabled: config.server.enabledSchedulers,
    },
  }
}

/** Under the names that peers' tools know; what this program does not have is off or empty. */
function shownConfig({ config, reloadable, origin, rpcAddress }: ThisAgentOptions) {
  const { limits, audit } = reloadable.settings
  const { bindAddr, advertiseAddr, ports, server } = config
  return {
    Name: config.name,
    NodeName: config.name,
    Region: config.region,
    Datacenter: config.datacenter,
    DataDir: config.dataDir,
    BindAddr: bindAddr,
    Addresses: { HTTP: bindAddr, RPC: bindAddr, Serf: bindAddr },
    AdvertiseAddrs: {
      HTTP: hostPort(advertiseAddr, ports.http),
      RPC: rpcAddress,
      Serf: hostPort(advertiseAddr, ports.gossip),
    },
    Ports: { HTTP: ports.http, RPC: ports.rpc, Serf: ports.gossip, Ops: ports.ops },
    LogLevel: config.logLevel.toUpperCase(),
    LogJson: config.logJson,
    EnableDebug: config.enableDebug ?? false,
    EnableSyslog: false,
    SyslogFacility: '',
    ACL: {
      Enabled: config.acl.enabled,
      DefaultPolicy: config.acl.defaultPolicy,
      BootstrapToken: config.acl.bootstrapToken === null ? '' : redacted,
      ReplicationToken: '',
    },
    Limits: {
      HTTPMaxConnsPerClient: limits.httpConnectionsPerClientMax,
      HTTPRatePerClient: limits.httpRatePerClient,
      HTTPBurstPerClient: limits.httpBurstPerClient,
      HTTPConcurrencyPerClient: limits.httpConcurrencyPerClient,
    },
    Audit: {
      Enabled: audit.enabled,
      Path: audit.path,
      RotateBytes: audit.rotateBytes,
      RotateMaxFiles: audit.rotateFilesMax,
      Required: audit.required,
    },
    Client: { Enabled: false },
    Server: {
      Enabled: true,
      BootstrapExpect: server.bootstrapExpect,
      NumSchedulers: server.numSchedulers,
      EnabledSchedulers: server.enabledSchedulers,
      RetryJoin: server.gossip?.retryJoin ?? [],
      EncryptKey: server.gossip?.encrypt ? redacted : '',
      KeyringKeyFile: server.keyringKeyFile ?? '',
      RaftElectionTimeoutMs: server.raft.electionMs,
      RaftHeartbeatMs: server.raft.heartbeatMs,
    },
    // The debugger of the peer breaks down over an integration that has no address, be it an empty one.
    Consul: { Addr: '', Auth: '', EnableSSL: false, Token: '' },
    Vault: { Enabled: false, Addr: '', Token: '' },
    // There is none, and the peer's tools shall not name its pages under what they print.
    UI: { Enabled: false, ShowCLIHints: false },
    TLSConfig: shownTls(config),
    Telemetry: {},
    HTTPAPIResponseHeaders: {},
    LeaveOnInt: config.leaveOnTerminate,
    LeaveOnTerm: config.leaveOnTerminate,
    DevMode: origin.dev,
    Files: origin.files,
    DisableAnonymousSignature: true,
    DisableUpdateCheck: true,
    Version: origin.version,
    VersionPrerelease: '',
    Revision: '',
  }
}

function shownTls({ tls: { rpc, http }, listeners }: AgentSettings) {
  const files = rpc ?? http
  return {
    // Also by a listener's own certificate, which has its own files.
    EnableHTTP: listeners.some(({ purpose, tls }) => purpose === 'api' && tls !== null),
    EnableRPC: rpc !== null,
    CAFile: rpc?.caFile ?? '',
    CertFile: files?.certFile ?? '',
    KeyFile: files?.keyFile ?? '',
    VerifyServerHostname: rpc?.verifyServerHostname ?? false,
    RPCUpgradeMode: rpc?.upgradeMode ?? false,
    VerifyHTTPSClient: false,
    TLSMinVersion: files === null ? '' : files.minVersion === 'TLSv1.3' ? 'tls13' : 'tls12',
  }
}

function memberOf(options: ThisAgentOptions): AgentMember {
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

function memberOfGossip(view: MemberView): AgentMember {
  const { name, address, port, tags, status, versions } = view
  return {
    name,
    address,
    port,
    tags: Object.fromEntries(tags),
    status,
    protocol: {
      min: versions.protocolMin,
      max: versions.protocolMax,
      current: versions.protocolCurrent,
    },
    delegate: {
      min: versions.delegateMin,
      max: versions.delegateMax,
      current: versions.delegateCurrent,
    },
  }
}

/** This region, and those of servers that gossip knows. */
function regionsOf({ config, gossip }: ThisAgentOptions): readonly string[] {
  const others = (gossip?.members() ?? [])
    .filter(({ status }) => status === 'alive')
    .flatMap(({ tags }) => tags.get('region') ?? [])
  return [...new Set([config.region, ...others])].sort()
}

function gossipStats(gossip: Pick<GossipNode, 'counters' | 'encrypted'>) {
  const { membersByStatus, healthScore, lamport, sizes } = gossip.counters()
  const members = Object.values(membersByStatus).reduce((sum, count) => sum + count, 0)
  return {
    members: String(members),
    failed: String(membersByStatus.failed),
    left: String(membersByStatus.left),
    health_score: String(healthScore),
    encrypted: String(gossip.encrypted),
    member_time: String(lamport.members),
    event_time: String(lamport.events),
    query_time: String(lamport.queries),
    intent_queue: String(sizes['intents'] ?? 0),
    event_queue: String(sizes['events'] ?? 0),
    query_queue: String(sizes['queries'] ?? 0),
    suspicions: String(sizes['suspicions'] ?? 0),
  }
}

const stateNames = {
  follower: 'Follower',
  preCandidate: 'Candidate',
  candidate: 'Candidate',
  leader: 'Leader',
} as const

function statsOf(options: ThisAgentOptions): AgentStats {
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
    known_regions: String(regionsOf(options).length),
    command_version: String(options.commandVersion()),
  }
  return {
    muster: server,
    // Tools of that peer look for the section under its name.
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
    runtime: {
      arch: arch(),
      cpu_count: String(cpus().length),
      goroutines: String(process.getActiveResourcesInfo().length),
      'kernel.name': kernelType().toLowerCase(),
      max_procs: String(availableParallelism()),
      version: process.version,
    },
  }
}

function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
