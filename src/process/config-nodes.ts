/** What a client agent tells of its machine beside what it finds, and how servers know which nodes live. */
import { isAbsolute } from 'node:path'
import Type from 'typebox'
import type { NodeConfig, WorkConfig } from '../client-agent/client-config.ts'
import { artifactSchema, completeArtifacts } from './config-artifacts.ts'
import { completeClientGossip, gossipKeys, type GossipConfig } from './config-gossip.ts'
import { completeDocker, enabledDrivers, type PluginFile } from './config-plugins.ts'
import type { Complain } from './config-check.ts'
import { closed, count, duration, emptyBlock, flag, name, path } from './config-values.ts'

const textLengthMax = 256

function nodeText(said: { readonly about?: string } = {}) {
  const description = `a text of at most ${textLengthMax} characters`
  return Type.String({ maxLength: textLengthMax, description, default: '', ...said })
}

const ofNode = 'of the [client node](client-agents.md#client-nodes-and-the-uplink)'
const keptForOthers = 'kept for others than tasks'

export const clientSchema = Type.Object(
  {
    enabled: flag({
      default: false,
      about: 'this agent is a [client agent](client-agents.md); one of the two must be `true`',
    }),
    ...gossipKeys('gossip addresses of servers, tried until one answers', 'required'),
    node_class: nodeText({ about: ofNode }),
    meta: Type.Record(Type.String(), nodeText(), {
      description: 'an object whose values are texts',
      default: {},
      about: ofNode,
      shown: 'none',
    }),
    cpu_total_compute: Type.Optional(
      count(1, 100_000_000, {
        shown: 'as told',
        about: 'MHz of all processors together, where the machine does not tell (1,000 each then)',
      }),
    ),
    host_volume: Type.Record(
      Type.String(),
      Type.Object(
        { path: path('the absolute path of a folder'), read_only: Type.Optional(flag()) },
        closed,
      ),
      {
        description: 'blocks with a name, each with a path',
        default: {},
        about: 'blocks with a name: `path`, `read_only`',
        shown: 'none',
      },
    ),
    reserved: Type.Object(
      {
        cpu: count(0, 10_000_000, { default: 0, about: `MHz, ${keptForOthers}` }),
        memory: count(0, 1_000_000_000, { default: 0, about: `MiB, ${keptForOthers}` }),
        disk: count(0, 1_000_000_000, { default: 0, about: `MiB, ${keptForOthers}` }),
        reserved_ports: nodeText({ about: `as in \`"22,8500-8600"\`, ${keptForOthers}` }),
      },
      emptyBlock,
    ),
    gc_max_allocs: count(0, 10_000, {
      default: 50,
      about: 'allocations that ended, whose files are kept, 0 to 10,000',
    }),
    stop_tasks_on_shutdown: flag({
      default: false,
      about: 'tasks end with the agent; otherwise they go on, and its next start finds them',
    }),
    drain_on_shutdown: Type.Optional(
      Type.Object(
        {
          deadline: duration(1_000, 86_400_000, '1s to 24h', { default: '1h' }),
          force: flag({ default: false }),
          ignore_system_jobs: flag({ default: false }),
        },
        {
          ...closed,
          about:
            'block with `deadline` (1h), `force`, `ignore_system_jobs`: with `leave_on_terminate` the node is [drained](client-agents.md#work) before its agent ends',
        },
      ),
    ),
    max_kill_timeout: duration(1_000, 86_400_000, '1s to 24h', {
      default: '30s',
      about: 'no task has longer to end, whatever its `kill_timeout`, 1s to 24h',
    }),
    cgroup_parent: name('the name of a control group', {
      default: 'muster.slice',
      about: 'control group (v2) that holds those of [`exec` tasks](client-agents.md#exec)',
    }),
    artifact: artifactSchema,
  },
  emptyBlock,
)

type ClientFile = Type.StaticDecode<typeof clientSchema>

/** Of servers: which nodes live. */
export const heartbeatKeys = {
  min_heartbeat_ttl: duration(1_000, 3_600_000, '1s to 1h', {
    default: '10s',
    about: 'of a client node, up to twice as long at random; longer with many nodes, by the next',
  }),
  max_heartbeats_per_second: count(1, 100_000, {
    default: 50,
    about: 'of all client nodes together, 1 to 100,000',
  }),
  heartbeat_grace: duration(1_000, 3_600_000, '1s to 1h', {
    default: '10s',
    about: 'what a heartbeat may take to the leader',
  }),
  failover_heartbeat_ttl: duration(1_000, 3_600_000, '1s to 1h', {
    default: '5m',
    about: 'what a new leader gives every node that is not down',
  }),
}

const heartbeats = Type.Object(heartbeatKeys)

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

export function completeClient(
  client: ClientFile,
  plugin: PluginFile,
  complain: Complain,
): ClientSide {
  return {
    gossip: completeClientGossip(client, complain),
    node: completeNode(client, complain),
    work: completeWork(client, plugin, complain),
  }
}

const portsPattern = /^$|^\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*$/

function completeNode(client: ClientFile, complain: Complain): NodeConfig {
  const { cpu, memory, disk, reserved_ports: ports } = client.reserved
  if (!portsPattern.test(ports)) {
    complain('client.reserved.reserved_ports', 'must be ports and ranges, as in "22,8500-8600"')
  }
  const hostVolumes = Object.entries(client.host_volume).map(([name, volume]) => {
    const { path, read_only: readOnly = false } = volume
    if (!isAbsolute(path)) complain('client.host_volume', `the path of ${name} must be absolute`)
    return { name, path, readOnly }
  })
  return {
    nodeClass: client.node_class,
    cpuTotalMhz: client.cpu_total_compute ?? null,
    meta: Object.entries(client.meta),
    hostVolumes,
    reserved: { cpuMhz: cpu, memoryMb: memory, diskMb: disk, ports },
  }
}

function completeWork(client: ClientFile, plugin: PluginFile, complain: Complain): WorkConfig {
  const { drain_on_shutdown: drain } = client
  return {
    drivers: enabledDrivers(plugin),
    cgroupParent: client.cgroup_parent,
    docker: completeDocker(plugin, complain),
    endedMax: client.gc_max_allocs,
    stopsTasks: client.stop_tasks_on_shutdown,
    drainOnShutdown:
      drain === undefined
        ? null
        : {
            deadlineMs: drain.deadline,
            force: drain.force,
            ignoreSystemJobs: drain.ignore_system_jobs,
          },
    killTimeoutMsMax: client.max_kill_timeout,
    artifacts: completeArtifacts(client.artifact, complain),
  }
}

export function completeHeartbeats(server: Type.StaticDecode<typeof heartbeats>): HeartbeatConfig {
  return {
    ttlMsMin: server.min_heartbeat_ttl,
    perSecondMax: server.max_heartbeats_per_second,
    graceMs: server.heartbeat_grace,
    failoverMs: server.failover_heartbeat_ttl,
  }
}
