/** A process as its agent endpoints show it, server or client: configuration without secrets, membership, figures as text. */
import { arch, availableParallelism, cpus, type as kernelType } from 'node:os'
import type { aliasPrefixes } from '../api/headers.ts'
import { redacted } from '../domains/process/redaction.ts'
import type { AgentMember } from '../domains/process/process-info.ts'
import type { GossipNode, MemberView } from '../gossip/gossip.ts'
import type { LogLevel } from '../lib/log.ts'
import type { LimitSettings } from './client-limits.ts'
import { hostPort } from '../lib/host-port.ts'

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
  /** 0: any free one. */
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
  /** A stop also means to leave the cluster for good. */
  readonly leaveOnTerminate: boolean
  readonly headerAliases: readonly (keyof typeof aliasPrefixes)[]
  readonly acl: {
    readonly enabled: boolean
    readonly defaultPolicy: 'allow' | 'deny'
    readonly downPolicy: 'deny' | 'extend-cache'
    readonly bootstrapToken: string | null
    readonly agentToken: string | null
  }
  readonly client: {
    readonly gossip: { readonly retryJoin: readonly string[]; readonly encrypt: string | null }
  } | null
  readonly server: {
    readonly enabled: boolean
    readonly bootstrapExpect: number
    /** Null: no gossip. */
    readonly gossip: {
      readonly retryJoin: readonly string[]
      readonly encrypt: string | null
    } | null
    readonly keyringKeyFile: string | null
    readonly numSchedulers: number | null
    readonly enabledSchedulers: readonly string[] | null
    /** Null: no scheduled snapshots. */
    readonly snapshots: {
      readonly everyMs: number
      readonly retain: number
      readonly folder: string
    } | null
    readonly raft: { readonly electionMs: number; readonly heartbeatMs: number }
  }
}

export type ShownOptions = Pick<AgentSettings, 'logLevel' | 'logJson'> & {
  readonly config: AgentSettings
  readonly limits: LimitSettings
  readonly audit: {
    readonly enabled: boolean
    readonly path: string
    readonly rotateBytes: number
    readonly rotateFilesMax: number
    readonly required: boolean
  }
  readonly origin: AgentOrigin
  /** host:port of the RPC listener, as others reach it; '' of a client agent. */
  readonly rpcAddress: string
  /** The election timeout at present, which may follow the heartbeats; absent: that of the configuration. */
  readonly electionTimeoutMs?: () => number
}

/** Under the names that Nomad's tools know; what this program does not have is off or empty. */
export function shownConfig(options: ShownOptions) {
  const { config, limits, audit, origin, rpcAddress } = options
  const { bindAddr, advertiseAddr, ports, server, client } = config
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
    LogLevel: options.logLevel.toUpperCase(),
    LogJson: options.logJson,
    EnableDebug: config.enableDebug ?? false,
    EnableSyslog: false,
    SyslogFacility: '',
    ACL: {
      Enabled: config.acl.enabled,
      DefaultPolicy: config.acl.defaultPolicy,
      DownPolicy: config.acl.downPolicy,
      BootstrapToken: config.acl.bootstrapToken === null ? '' : redacted,
      AgentToken: config.acl.agentToken === null ? '' : redacted,
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
    Client: {
      Enabled: client !== null,
      RetryJoin: client?.gossip.retryJoin ?? [],
      EncryptKey: client?.gossip.encrypt ? redacted : '',
    },
    Server: {
      Enabled: server.enabled,
      BootstrapExpect: server.bootstrapExpect,
      NumSchedulers: server.numSchedulers,
      EnabledSchedulers: server.enabledSchedulers,
      RetryJoin: server.gossip?.retryJoin ?? [],
      EncryptKey: server.gossip?.encrypt ? redacted : '',
      KeyringKeyFile: server.keyringKeyFile ?? '',
      Snapshots:
        server.snapshots === null
          ? null
          : {
              ScheduleMs: server.snapshots.everyMs,
              Retain: server.snapshots.retain,
              Folder: server.snapshots.folder,
            },
      RaftElectionTimeoutMs: Math.round(options.electionTimeoutMs?.() ?? server.raft.electionMs),
      RaftHeartbeatMs: server.raft.heartbeatMs,
    },
    // `nomad operator debug` crashes where an integration has no address; an empty one is enough.
    Consul: { Addr: '', Auth: '', EnableSSL: false, Token: '' },
    Vault: { Enabled: false, Addr: '', Token: '' },
    // Muster has no web page; without this Nomad's tools would print links to one.
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

export function memberOfGossip(view: MemberView): AgentMember {
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
export function regionsOf(
  own: string,
  gossip: Pick<GossipNode, 'members'> | null,
): readonly string[] {
  const others = (gossip?.members() ?? [])
    .filter(({ status }) => status === 'alive')
    .flatMap(({ tags }) => tags.get('region') ?? [])
  return [...new Set([own, ...others])].sort()
}

export function gossipStats(gossip: Pick<GossipNode, 'counters' | 'encrypted'>) {
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

export function runtimeStats() {
  return {
    arch: arch(),
    cpu_count: String(cpus().length),
    goroutines: String(process.getActiveResourcesInfo().length),
    'kernel.name': kernelType().toLowerCase(),
    max_procs: String(availableParallelism()),
    version: process.version,
  }
}
