/** What a client agent tells of its machine beside what it finds, and how servers know which nodes live. */
import { isAbsolute } from 'node:path'
import type { NodeConfig, WorkConfig } from '../client-agent/client-config.ts'
import { completeClientGossip, type GossipConfig } from './config-gossip.ts'
import { enabledDrivers } from './config-plugins.ts'
import type { Complain } from './config-listeners.ts'
import type { ConfigFile } from './config-schema.ts'
import { parseDurationMs } from '../lib/duration.ts'

/** The four times of Nomad. */
export type HeartbeatConfig = {
  readonly ttlMsMin: number
  readonly perSecondMax: number
  readonly graceMs: number
  readonly failoverMs: number
}

export type ClientSide = {
  readonly gossip: GossipConfig
  readonly node: NodeConfig
  readonly work: WorkConfig
}

export function completeClient(file: ConfigFile, complain: Complain): ClientSide {
  const { client = {} } = file
  return {
    gossip: completeClientGossip(client, complain),
    node: completeNode(client, complain),
    work: completeWork(file),
  }
}

const portsPattern = /^$|^\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*$/

function completeNode(client: NonNullable<ConfigFile['client']>, complain: Complain): NodeConfig {
  const { reserved = {} } = client
  const ports = reserved.reserved_ports ?? ''
  if (!portsPattern.test(ports)) {
    complain('client.reserved.reserved_ports', 'must be ports and ranges, as in "22,8500-8600"')
  }
  const hostVolumes = Object.entries(client.host_volume ?? {}).map(([name, volume]) => {
    const { path, read_only: readOnly = false } = volume
    if (!isAbsolute(path)) complain('client.host_volume', `the path of ${name} must be absolute`)
    return { name, path, readOnly }
  })
  return {
    nodeClass: client.node_class ?? '',
    cpuTotalMhz: client.cpu_total_compute ?? null,
    meta: Object.entries(client.meta ?? {}),
    hostVolumes,
    reserved: {
      cpuMhz: reserved.cpu ?? 0,
      memoryMb: reserved.memory ?? 0,
      diskMb: reserved.disk ?? 0,
      ports,
    },
  }
}

/** As Nomad has them. */
const killTimeoutMsMax = 30_000
const drainMsDefault = 3_600_000

function completeWork({ client = {}, plugin = {} }: ConfigFile): WorkConfig {
  const { drain_on_shutdown: drain } = client
  return {
    drivers: enabledDrivers(plugin),
    endedMax: client.gc_max_allocs ?? 50,
    stopsTasks: client.stop_tasks_on_shutdown ?? false,
    drainOnShutdown:
      drain === undefined
        ? null
        : {
            deadlineMs: parseDurationMs(drain.deadline ?? '') ?? drainMsDefault,
            force: drain.force ?? false,
            ignoreSystemJobs: drain.ignore_system_jobs ?? false,
          },
    killTimeoutMsMax: parseDurationMs(client.max_kill_timeout ?? '') ?? killTimeoutMsMax,
  }
}

export function completeHeartbeats(server: NonNullable<ConfigFile['server']>): HeartbeatConfig {
  const msOr = (text: string | undefined, otherwise: number): number =>
    text === undefined ? otherwise : (parseDurationMs(text) ?? otherwise)
  return {
    ttlMsMin: msOr(server.min_heartbeat_ttl, 10_000),
    perSecondMax: server.max_heartbeats_per_second ?? 50,
    graceMs: msOr(server.heartbeat_grace, 10_000),
    failoverMs: msOr(server.failover_heartbeat_ttl, 300_000),
  }
}
