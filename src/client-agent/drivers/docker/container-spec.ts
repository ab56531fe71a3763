/** A task as a container: what the daemon is asked to create. */
import { isIP } from 'node:net'
import type { AllocatedPort } from '../../../domains/allocations/model.ts'
import { cpuSharesOf } from '../cpu-shares.ts'
import type { TaskToStart } from '../driver.ts'
import type { Bind } from './binds.ts'
import { capabilitiesOf } from './capabilities.ts'
import type { DockerSettings } from './settings.ts'
import { mergedOf, wrong, type Config } from './task-config.ts'

const mib = 1024 * 1024
/** Of memory, to the daemon. */
const noLimit = 0
/** A hundredth of a processor: the daemon and the kernel refuse less. */
const nanoCpusMin = 10_000_000
/** What the daemon keeps of the output, which the agent copies: over an absence of the agent nothing more is lost. */
const logConfig = { Type: 'json-file', Config: { 'max-size': '20m', 'max-file': '3' } } as const

export const labels = {
  node: 'muster.node_id',
  allocation: 'muster.alloc_id',
  task: 'muster.task_name',
  /** As others look for them. */
  nomadAllocation: 'com.hashicorp.nomad.alloc_id',
} as const

export type SpecOf = {
  readonly task: TaskToStart
  readonly config: Config
  readonly binds: readonly Bind[]
  readonly settings: DockerSettings
  /** Of the agent. */
  readonly nodeId: string
  /** Of one processor. */
  readonly mhz: number
}

export function containerName({ task, allocation }: Pick<TaskToStart, 'task' | 'allocation'>) {
  return `${task}-${allocation}`.replaceAll(/[^A-Za-z0-9_.-]/g, '_').replace(/^[^A-Za-z0-9]/, '0')
}

/** Throws `invalid_argument` for what is not allowed here. */
export function containerSpec({ task, config, binds, settings, nodeId, mhz }: SpecOf) {
  const { command, args = [], entrypoint, tty = false, interactive = false } = config
  const ports = publishedPorts(task, config)
  const words = command === undefined ? args : [command, ...args]
  return {
    Image: config.image,
    ...(words.length > 0 && { Cmd: words }),
    ...(entrypoint !== undefined && {
      Entrypoint: typeof entrypoint === 'string' ? [entrypoint] : entrypoint,
    }),
    Env: Object.entries(task.env).map(([name, value]) => `${name}=${value}`),
    Labels: {
      ...mergedOf(config.labels),
      [labels.node]: nodeId,
      [labels.allocation]: task.allocation,
      [labels.task]: task.task,
      [labels.nomadAllocation]: task.allocation,
    },
    Tty: tty,
    OpenStdin: interactive,
    ...(config.hostname !== undefined && { Hostname: config.hostname }),
    ...(config.work_dir !== undefined && { WorkingDir: config.work_dir }),
    ...(task.user !== '' && { User: task.user }),
    ExposedPorts: Object.fromEntries(Object.keys(ports).map((port) => [port, {}])),
    HostConfig: {
      ...limitsOf(task, config, mhz),
      ...rightsOf(config, settings),
      Mounts: binds,
      Tmpfs: Object.fromEntries((config.tmpfs ?? []).map(tmpfsOf)),
      NetworkMode: config.network_mode ?? 'default',
      PortBindings: ports,
      LogConfig: logConfig,
      RestartPolicy: { Name: 'no' },
      ...(config.extra_hosts !== undefined && { ExtraHosts: config.extra_hosts }),
      ...(config.dns_servers !== undefined && { Dns: config.dns_servers }),
    },
  }
}

function limitsOf({ resources }: TaskToStart, config: Config, mhz: number) {
  const { memory_hard_limit: hardMb, cpu_hard_limit: isHard = false } = config
  const memory = resources.memoryMb * mib
  const mostMb = hardMb ?? resources.memoryMaxMb
  const Memory = mostMb === null ? noLimit : Math.max(memory, mostMb * mib)
  return {
    CpuShares: cpuSharesOf(resources.cpuMhz),
    ...(isHard && { NanoCpus: Math.max(nanoCpusMin, Math.round((resources.cpuMhz / mhz) * 1e9)) }),
    Memory,
    // None beside the memory.
    MemorySwap: Memory,
    ...((hardMb !== undefined || Memory !== memory) && { MemoryReservation: memory }),
    ...(config.pids_limit !== undefined && { PidsLimit: config.pids_limit }),
    ...(config.shm_size !== undefined && { ShmSize: config.shm_size }),
    Ulimits: Object.entries(mergedOf(config.ulimit)).map(([Name, written]) => {
      const match = /^(-?\d{1,12})(?::(-?\d{1,12}))?$/.exec(written)
      if (match === null) throw wrong(`docker: ulimit ${Name} must be as "2048" or "2048:4096"`)
      const [, soft, hard = soft] = match
      return { Name, Soft: Number(soft), Hard: Number(hard) }
    }),
  }
}

function rightsOf(config: Config, { allowPrivileged, allowCaps }: DockerSettings) {
  const { privileged = false, readonly_rootfs = false, init = false } = config
  if (privileged && !allowPrivileged) {
    throw wrong('docker: privileged is not allowed by this agent (allow_privileged)')
  }
  return {
    Privileged: privileged,
    ReadonlyRootfs: readonly_rootfs,
    Init: init,
    ...(!privileged && capabilitiesOf(config, allowCaps)),
  }
}

/** `path`, or `path:options`. */
function tmpfsOf(written: string): readonly [string, string] {
  const at = written.indexOf(':')
  const path = at < 0 ? written : written.slice(0, at)
  if (!path.startsWith('/')) throw wrong('docker: tmpfs must have paths such as "/tmp:size=64m"')
  return [path, at < 0 ? '' : written.slice(at + 1)]
}

type Published = Readonly<Record<string, readonly { HostIp: string; HostPort: string }[]>>

/** By the port within, as `80/tcp`. The network of the machine has them as they are. */
function publishedPorts(task: TaskToStart, { ports = [], network_mode: mode }: Config): Published {
  const found = ports.map((label) => portOf(label, task.ports))
  if (mode === 'host') return {}
  if (mode === 'none' && found.length > 0) {
    throw wrong('docker: ports need a network, and network_mode "none" is none')
  }
  const byPort = new Map<string, { HostIp: string; HostPort: string }[]>()
  for (const { value, to, address } of found) {
    const place = { HostIp: isIP(address) === 0 ? '' : address, HostPort: String(value) }
    for (const protocol of ['tcp', 'udp']) {
      const within = `${to > 0 ? to : value}/${protocol}`
      byPort.set(within, [...(byPort.get(within) ?? []), place])
    }
  }
  return Object.fromEntries(byPort)
}

function portOf(label: string, ports: readonly AllocatedPort[]): AllocatedPort {
  const port = ports.find((one) => one.label === label)
  if (port !== undefined) return port
  const known = ports.map((one) => one.label).join(', ')
  throw wrong(`docker: the group has no port ${label}; it has ${known === '' ? 'none' : known}`)
}
