/**
 * Files to one frozen, checked value. After this no code reads a configuration file or checks a value again.
 */
import { isIPv6 } from 'node:net'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { Check } from 'typebox/schema'
import { parseDurationMs } from '../lib/duration.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { LogLevel } from '../lib/log.ts'
import { wildcards } from '../lib/host-port.ts'
import { checkTree, problemLine, type Problem } from './config-check.ts'
import { fileSchema, headerAliases, type ConfigFile, type HeaderAlias } from './config-schema.ts'
import { namePattern, parsePeer, parseSize, type StaticPeer } from './config-values.ts'
import { completeAcl, type AclConfig } from './config-acl.ts'
import { completeGossip, type GossipConfig } from './config-gossip.ts'
import {
  completeAudit,
  completeLimits,
  type AuditConfig,
  type LimitsConfig,
} from './config-limits.ts'
import {
  completeClient,
  completeHeartbeats,
  type ClientSide,
  type HeartbeatConfig,
} from './config-nodes.ts'
import { completeHttp, type HttpConfig } from './config-http.ts'
import {
  completeListeners,
  defaultPorts,
  type Complain,
  type DefaultPorts,
  type ListenerConfig,
} from './config-listeners.ts'
import { definitionsOf, scriptChecksOf, type ScriptChecks } from './config-services.ts'
import { completeSnapshots, type SnapshotsConfig } from './config-snapshots.ts'
import { completeTls, type TlsConfig } from './config-tls.ts'
import {
  configFiles,
  emptyTree,
  overlay,
  readConfigFile,
  type ConfigNode,
  type Source,
} from './config-tree.ts'

export type { GossipConfig } from './config-gossip.ts'
export type { ListenerConfig } from './config-listeners.ts'
export type { TlsConfig } from './config-tls.ts'
export type { HeaderAlias } from './config-schema.ts'
export type { StaticPeer } from './config-values.ts'

/** Times in milliseconds, sizes in bytes. */
export type RaftConfig = {
  readonly electionMs: number
  /** The timeout follows what heartbeats show, within these; null: it is fixed. */
  readonly adaptive: { readonly minMs: number; readonly maxMs: number } | null
  /** heartbeatMs * 2 <= electionMs */
  readonly heartbeatMs: number
  /** Linearizable reads without a quorum round, on trust in the servers' clocks; costs the quick election after a crash. */
  readonly leaseReads: boolean
  readonly appendBytesMax: number
  readonly inflightMessagesMax: number
  readonly inflightBytesMax: number
  readonly uncommittedBytesMax: number
  readonly cacheBytesMax: number
  readonly compactBytes: number
}

export type AgentConfig = {
  readonly name: string
  readonly region: string
  readonly datacenter: string
  /** Absolute. */
  readonly dataDir: string
  readonly bindAddr: string
  /** What others connect to; never a wildcard. */
  readonly advertiseAddr: string
  readonly logLevel: LogLevel
  readonly logJson: boolean
  /** Whether profiles may be taken; null: not set, which is not the same as false. */
  readonly enableDebug: boolean | null
  /** A signal to stop also means to leave the cluster for good. */
  readonly leaveOnTerminate: boolean
  readonly scriptChecks: ScriptChecks
  /** Services and checks of the files, with the files' names of fields. */
  readonly definitions: ReturnType<typeof definitionsOf>
  /** 0: any free port. */
  readonly ports: {
    readonly http: number
    readonly rpc: number
    readonly gossip: number
    readonly ops: number
  }
  /** All of them, those that `ports` names included. */
  readonly listeners: readonly ListenerConfig[]
  readonly http: HttpConfig
  readonly tls: TlsConfig
  readonly controller: {
    /** From the signal to the handover; 0: none. */
    readonly gracefulShutdownWaitMs: number
  }
  readonly server: {
    readonly enabled: boolean
    /** Servers that make a new cluster together; 0: this one only joins. With `peers` not above the servers they name and this one. */
    readonly bootstrapExpect: number
    /** The other servers, this one left out. None, with gossip: they are found by it. */
    readonly peers: readonly StaticPeer[]
    /** Null: no gossip. */
    readonly gossip: GossipConfig | null
    readonly keyringKeyFile: string | null
    /** Scheduler workers; null: one per processor. */
    readonly numSchedulers: number | null
    /** Null: all kinds. */
    readonly enabledSchedulers: readonly string[] | null
    /** Null: no scheduled snapshots. */
    readonly snapshots: SnapshotsConfig | null
    readonly heartbeats: HeartbeatConfig
    readonly raft: RaftConfig
  }
  /** Null: this agent is a server. */
  readonly client: ClientSide | null
  readonly acl: AclConfig
  /** Whose header names are emitted beside our own. */
  readonly headerAliases: readonly HeaderAlias[]
  readonly limits: LimitsConfig
  readonly audit: AuditConfig
}

const MiB = 2 ** 20

/** What this process brings itself: `-dev` and tests. */
export type ConfigBase = {
  /** Used when no file names a folder. */
  readonly dataDir?: string
  readonly serverEnabled?: boolean
  readonly keyringKeyFile?: string
  readonly defaultPorts?: DefaultPorts
}

/**
 * Reads files and folders in order, later over earlier. Throws `invalid_argument` with one line per problem,
 * each naming the file, the line where it is known, and the key.
 */
export async function loadConfig(
  paths: readonly string[],
  base: ConfigBase = {},
): Promise<AgentConfig> {
  const failures: string[] = []
  let tree = emptyTree()
  for (const path of paths) {
    try {
      for (const file of await configFiles(path)) {
        tree = overlay(tree, await readConfigFile(file))
      }
    } catch (error) {
      failures.push(textOf(error))
    }
  }
  if (failures.length > 0) throw new MusterError('invalid_argument', failures.join('\n'))
  return checkConfig(tree, base)
}

/** The value of a whole tree. Throws as `loadConfig`. */
export function checkConfig(tree: ConfigNode, base: ConfigBase = {}): AgentConfig {
  const problems: Problem[] = []
  const file = checkTree(fileSchema, tree, problems)
  if (problems.length === 0 && Check(fileSchema, file)) {
    const complain = (key: string, text: string): void => {
      problems.push({ key, source: sourceOf(tree, key), text })
    }
    const config = complete(file, base, complain)
    if (problems.length === 0) return freezeDeep(config)
  }
  throw new MusterError('invalid_argument', problems.map(problemLine).join('\n'))
}

function complete(file: ConfigFile, base: ConfigBase, complain: Complain): AgentConfig {
  const bindAddr = file.bind_addr ?? '127.0.0.1'
  const defaults = base.defaultPorts ?? defaultPorts
  const ports = {
    http: file.ports?.http ?? defaults.http,
    rpc: file.ports?.rpc ?? defaults.rpc,
    gossip: file.ports?.gossip ?? defaults.gossip,
    ops: file.ports?.ops ?? defaults.ops,
  }
  const serverName = file.name ?? hostname()
  if (!new RegExp(namePattern).test(serverName)) {
    complain('name', `the host name ${JSON.stringify(serverName)} cannot be a name; set name`)
  }
  const dataDir = file.data_dir ?? base.dataDir
  if (dataDir === undefined) complain('data_dir', 'missing; name the folder that keeps the data')
  if (base.dataDir !== undefined && file.data_dir !== undefined) {
    complain('data_dir', 'a -dev agent keeps its data in a temporary folder; leave data_dir out')
  }
  const server = file.server ?? {}
  const enabled = server.enabled ?? base.serverEnabled ?? false
  const client = file.client ?? {}
  const isClient = client.enabled ?? false
  if (!enabled && !isClient) {
    complain('server.enabled', 'nothing to run; set it to true, or client.enabled')
  }
  if (isClient) refuseOfClients(file, enabled, complain)
  const advertiseAddr = advertised(file.advertise_addr, bindAddr, complain)
  const founders = completePeers(serverName, ports.rpc, server, complain)
  const tls = completeTls(
    file.tls ?? {},
    {
      isServer: enabled,
      isAlone:
        founders.bootstrapExpect === 1 &&
        founders.peers.length === 0 &&
        server.retry_join === undefined,
      dataDir: resolve(dataDir ?? '.'),
      bindAddr,
      advertiseAddr,
      rpcPort: ports.rpc,
      allowsInsecureRpc: file.allow_insecure_rpc ?? false,
    },
    complain,
  )
  const keyringKeyFile = server.keyring_key_file ?? base.keyringKeyFile
  return {
    name: serverName,
    region: file.region ?? 'global',
    datacenter: file.datacenter ?? 'dc1',
    dataDir: resolve(dataDir ?? '.'),
    bindAddr,
    advertiseAddr,
    logLevel: file.log_level ?? 'info',
    logJson: file.log_json ?? false,
    enableDebug: file.enable_debug ?? null,
    leaveOnTerminate: file.leave_on_terminate ?? false,
    scriptChecks: scriptChecksOf(file),
    definitions: definitionsOf(file),
    ports,
    listeners: completeListeners(
      file.listener ?? [],
      { bindAddr, ports, defaults, apiTls: tls.http, tlsByFolder: tls.byFolder },
      complain,
    ),
    http: completeHttp(file.http ?? {}, complain),
    tls,
    controller: {
      gracefulShutdownWaitMs: durationOr(file.controller?.graceful_shutdown_wait_duration, 0),
    },
    server: {
      enabled,
      ...founders,
      gossip: completeGossip(server, complain),
      keyringKeyFile: keyringKeyFile === undefined ? null : resolve(keyringKeyFile),
      numSchedulers: server.num_schedulers ?? null,
      enabledSchedulers: server.enabled_schedulers ?? null,
      snapshots: completeSnapshots(server, resolve(dataDir ?? '.'), complain),
      heartbeats: completeHeartbeats(server),
      raft: completeRaft(server.raft ?? {}, complain),
    },
    client: isClient ? completeClient(file, complain) : null,
    acl: completeAcl(file.acl ?? {}, complain),
    headerAliases: file.header_aliases ?? headerAliases,
    limits: completeLimits(file.limits ?? {}, complain),
    audit: completeAudit(file.audit ?? {}, resolve(dataDir ?? '.')),
  }
}

/** What only servers do. */
function refuseOfClients(file: ConfigFile, isServer: boolean, complain: Complain): void {
  if (isServer) {
    complain(
      'client.enabled',
      'a server runs services and checks as a client agent does; enable one of the two',
    )
  }
  if (file.acl?.bootstrap_token !== undefined) {
    complain('acl.bootstrap_token', 'is for servers; a client agent has acl.agent_token')
  }
}

function advertised(given: string | undefined, bindAddr: string, complain: Complain): string {
  const address = given ?? bindAddr
  if (wildcards.includes(address)) {
    const reason = `${address} is every address of this machine, and others cannot connect to that`
    complain('advertise_addr', `${reason}; name the one address that others reach this server at`)
  }
  return address
}

type ServerFile = NonNullable<ConfigFile['server']>

/**
 * Every server's file may hold the same list, itself included: the own entry is checked and left out.
 * So one list serves all, and a copied file with a forgotten name or port is noticed at start.
 */
function completePeers(
  ownName: string,
  ownPort: number,
  server: ServerFile,
  complain: Complain,
): Pick<AgentConfig['server'], 'peers' | 'bootstrapExpect'> {
  if (server.peers === undefined || server.peers.length === 0) {
    return { peers: [], bootstrapExpect: foundServers(server, complain) }
  }
  const listed = server.peers.flatMap((text) => parsePeer(text) ?? [])
  const names = new Set<string>()
  const addresses = new Set<string>()
  for (const peer of listed) {
    const address = joinHostPort(peer.host, peer.port)
    if (names.has(peer.name)) complain('server.peers', `${peer.name} is listed twice`)
    if (addresses.has(address)) complain('server.peers', `the address ${address} is listed twice`)
    names.add(peer.name)
    addresses.add(address)
  }
  const own = listed.find((peer) => peer.name === ownName)
  if (own !== undefined && own.port !== ownPort) {
    complain(
      'server.peers',
      `${ownName} is this server, listed at port ${own.port}, but ports.rpc is ${ownPort}; they must agree`,
    )
  }
  const peers = listed.filter((peer) => peer.name !== ownName)
  if (ownPort === 0 && peers.length > 0) {
    complain('ports.rpc', 'a server with peers needs a fixed port, so that they find it')
  }
  return { peers, bootstrapExpect: expectedServers(server, peers.length + 1, complain) }
}

/** Without a list nothing says how many there are, and a wrong guess would begin a second cluster. */
function foundServers(server: ServerFile, complain: Complain): number {
  const given = server.bootstrap_expect
  if (given !== undefined) return given
  if ((server.retry_join ?? []).length === 0) return 1
  complain(
    'server.bootstrap_expect',
    'missing; server.retry_join names others, so say how many servers make the first cluster (1, 3, 5 …, or 0 to join one)',
  )
  return 0
}

function expectedServers(server: ServerFile, named: number, complain: Complain): number {
  const given = server.bootstrap_expect
  if (given === undefined) {
    if (named % 2 === 1) return named
    complain(
      'server.bootstrap_expect',
      `missing; server.peers and this server are ${named}, so say how many make the first cluster (1, 3, 5 …, or 0 to join one)`,
    )
    return 0
  }
  if (given > named) {
    complain(
      'server.bootstrap_expect',
      `${given} servers are expected, but server.peers and this server are only ${named}; list them all as name=host:rpcport`,
    )
  }
  if (given === 0 && named === 1) {
    complain('server.bootstrap_expect', '0 only joins others, but server.peers names none')
  }
  return given
}

function completeRaft(file: NonNullable<ServerFile['raft']>, complain: Complain): RaftConfig {
  const heartbeatMs = durationOr(file.heartbeat_interval, 100)
  const raft: RaftConfig = {
    ...electionTimeout(file.election_timeout ?? 'auto', heartbeatMs),
    heartbeatMs,
    leaseReads: file.lease_reads ?? false,
    appendBytesMax: sizeOr(file.append_bytes_max, MiB),
    inflightMessagesMax: file.inflight_messages_max ?? 64,
    inflightBytesMax: sizeOr(file.inflight_bytes_max, 16 * MiB),
    uncommittedBytesMax: sizeOr(file.uncommitted_bytes_max, 32 * MiB),
    cacheBytesMax: sizeOr(file.cache_bytes_max, 32 * MiB),
    compactBytes: sizeOr(file.compact_bytes, 64 * MiB),
  }
  if (heartbeatMs * 2 > raft.electionMs) {
    complain(
      'server.raft.heartbeat_interval',
      `${heartbeatMs}ms is more than half of election_timeout (${raft.electionMs}ms); one lost heartbeat would cause an election`,
    )
  }
  if (raft.appendBytesMax > raft.inflightBytesMax) {
    complain('server.raft.append_bytes_max', 'must not be above inflight_bytes_max')
  }
  return raft
}

/** With `auto` a rare heartbeat makes the least timeout longer: one that is lost must not cause an election. */
function electionTimeout(
  text: string,
  heartbeatMs: number,
): Pick<RaftConfig, 'electionMs' | 'adaptive'> {
  if (text !== 'auto') return { electionMs: durationOr(text, 1_000), adaptive: null }
  const atLeast = (ms: number) => Math.max(ms, 2.5 * heartbeatMs)
  return { electionMs: atLeast(1_000), adaptive: { minMs: atLeast(250), maxMs: atLeast(2_000) } }
}

function durationOr(text: string | undefined, defaultMs: number): number {
  return text === undefined ? defaultMs : (parseDurationMs(text) ?? defaultMs)
}

function sizeOr(value: string | number | undefined, bytes: number): number {
  return value === undefined ? bytes : (parseSize(value) ?? bytes)
}

/** `host:port`, an IPv6 host in brackets. */
export function joinHostPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

/** Where a key was written, or the nearest block around it. */
function sourceOf(tree: ConfigNode, key: string): Source {
  let node = tree
  for (const part of key.split('.')) {
    const child = childOf(node, part)
    if (child === undefined) {
      return node === tree ? { file: node.source.file, line: null } : node.source
    }
    node = child
  }
  return node.source
}

function childOf(node: ConfigNode, part: string): ConfigNode | undefined {
  if (node.type === 'map') return node.entries.get(part)
  return node.type === 'list' ? node.items[Number(part)] : undefined
}

function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) freezeDeep(item)
  }
  return value
}
