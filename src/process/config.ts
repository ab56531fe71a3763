/**
 * Files to one frozen, checked value. After this no code reads a configuration file or checks a value again.
 */
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { DecodeUnsafe, Default } from 'typebox/value'
import { MusterError, textOf } from '../lib/errors.ts'
import type { LogLevel } from '../lib/log.ts'
import { isWildcard } from '../lib/host-port.ts'
import { checkTree, problemLine, type Complain, type Problem } from './config-check.ts'
import { fileSchema, type ConfigFile, type HeaderAlias } from './config-schema.ts'
import { completePeers, type Founders } from './config-server.ts'
import { namePattern } from './config-values.ts'
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
import { completeRaft, type RaftConfig } from './config-raft.ts'
import {
  completeListeners,
  defaultPorts,
  type DefaultPorts,
  type ListenerConfig,
} from './config-listeners.ts'
import { definitionsOf, scriptChecksOf, type ScriptChecks } from './config-services.ts'
import { completeMemory, type MemoryConfig } from './config-memory.ts'
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
export type { RaftConfig } from './config-raft.ts'
export { joinHostPort } from './config-server.ts'
export type { TlsConfig } from './config-tls.ts'
export type { HeaderAlias } from './config-schema.ts'

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
  readonly server: Founders & {
    readonly enabled: boolean
    /** Null: no gossip. */
    readonly gossip: GossipConfig | null
    readonly keyringKeyFile: string | null
    /** Scheduler workers; null: one per processor. */
    readonly numSchedulers: number | null
    /** Null: all kinds. */
    readonly enabledSchedulers: readonly string[] | null
    readonly memory: MemoryConfig
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

/** What this process brings itself: `-dev` and tests. */
export type ConfigBase = {
  /** Used when no file names a folder. */
  readonly dataDir?: string
  readonly serverEnabled?: boolean
  readonly keyringKeyFile?: string
  readonly defaultPorts?: DefaultPorts
}

export type LoadedConfig = {
  readonly config: AgentConfig
  /** What the files say, and the defaults of their keys. */
  readonly file: ConfigFile
}

/** Throws as `loadFiles`. */
export async function loadConfig(
  paths: readonly string[],
  base: ConfigBase = {},
): Promise<AgentConfig> {
  return (await loadFiles(paths, base)).config
}

/**
 * Reads files and folders in order, later over earlier. Throws `invalid_argument` with one line per problem,
 * each naming the file, the line where it is known, and the key.
 */
export async function loadFiles(
  paths: readonly string[],
  base: ConfigBase = {},
): Promise<LoadedConfig> {
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
  return checkTreeOfFiles(tree, base)
}

/** The value of a whole tree. Throws as `loadFiles`. */
export function checkConfig(tree: ConfigNode, base: ConfigBase = {}): AgentConfig {
  return checkTreeOfFiles(tree, base).config
}

function checkTreeOfFiles(tree: ConfigNode, base: ConfigBase): LoadedConfig {
  const problems: Problem[] = []
  const given = checkTree(fileSchema, tree, problems)
  if (problems.length === 0) {
    // It satisfies the schema: what else `Decode` does is 30 ms of a start, and changes nothing.
    const file = DecodeUnsafe({}, fileSchema, Default(fileSchema, given)) as ConfigFile
    const complain = (key: string, text: string): void => {
      problems.push({ key, source: sourceOf(tree, key), text })
    }
    const config = complete(file, base, complain)
    if (problems.length === 0) return { config: freezeDeep(config), file }
  }
  throw new MusterError('invalid_argument', problems.map(problemLine).join('\n'))
}

function complete(file: ConfigFile, base: ConfigBase, complain: Complain): AgentConfig {
  const { server, client, bind_addr: bindAddr } = file
  const defaults = base.defaultPorts ?? defaultPorts
  const ports = {
    http: file.ports.http ?? defaults.http,
    rpc: file.ports.rpc ?? defaults.rpc,
    gossip: file.ports.gossip ?? defaults.gossip,
    ops: file.ports.ops ?? defaults.ops,
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
  const enabled = server.enabled ?? base.serverEnabled ?? false
  if (!enabled && !client.enabled) {
    complain('server.enabled', 'nothing to run; set it to true, or client.enabled')
  }
  if (client.enabled) refuseOfClients(file, enabled, complain)
  const advertiseAddr = advertised(file.advertise_addr, bindAddr, complain)
  const founders = completePeers(serverName, ports.rpc, server, complain)
  const tls = completeTls(
    file.tls,
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
      allowsInsecureRpc: file.allow_insecure_rpc,
    },
    complain,
  )
  const memory = completeMemory(server)
  const keyringKeyFile = server.keyring_key_file ?? base.keyringKeyFile
  return {
    name: serverName,
    region: file.region,
    datacenter: file.datacenter,
    dataDir: resolve(dataDir ?? '.'),
    bindAddr,
    advertiseAddr,
    logLevel: file.log_level,
    logJson: file.log_json,
    enableDebug: file.enable_debug ?? null,
    leaveOnTerminate: file.leave_on_terminate,
    scriptChecks: scriptChecksOf(file),
    definitions: definitionsOf(file),
    ports,
    listeners: completeListeners(
      file.listener,
      { bindAddr, ports, defaults, apiTls: tls.http, tlsByFolder: tls.byFolder },
      complain,
    ),
    http: completeHttp(file.http, complain),
    tls,
    controller: { gracefulShutdownWaitMs: file.controller.graceful_shutdown_wait_duration },
    server: {
      enabled,
      ...founders,
      gossip: completeGossip(server, complain),
      keyringKeyFile: keyringKeyFile === undefined ? null : resolve(keyringKeyFile),
      numSchedulers: server.num_schedulers ?? null,
      enabledSchedulers: server.enabled_schedulers ?? null,
      memory,
      snapshots: completeSnapshots(server, resolve(dataDir ?? '.'), complain),
      heartbeats: completeHeartbeats(server),
      raft: completeRaft(server.raft, complain),
    },
    client: client.enabled ? completeClient(client, file.plugin, complain) : null,
    acl: completeAcl(file.acl, complain),
    headerAliases: file.header_aliases,
    limits: completeLimits(file.limits, memory, complain),
    audit: completeAudit(file.audit, resolve(dataDir ?? '.')),
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
  if (file.acl.bootstrap_token !== undefined) {
    complain('acl.bootstrap_token', 'is for servers; a client agent has acl.agent_token')
  }
}

function advertised(given: string | undefined, bindAddr: string, complain: Complain): string {
  const address = given ?? bindAddr
  if (isWildcard(address)) {
    const reason = `${address} is every address of this machine, and others cannot connect to that`
    complain('advertise_addr', `${reason}; name the one address that others reach this server at`)
  }
  return address
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
