/** What a client agent wants to know of its configuration; the agent checks it before, so nothing is checked here. */
import type { RuntimeConfig } from '../runtime/runtime-config.ts'
import type { ReloadableSettings } from '../runtime/reload.ts'
import type { DockerSettings } from './drivers/docker/settings.ts'
import type { DriverName } from './drivers/names.ts'
import type { ArtifactSettings } from './runner/artifacts/limits.ts'
import type { ServerTrustSettings } from './server-trust.ts'

/** What is told of the machine beside what is found. */
export type NodeConfig = {
  readonly nodeClass: string
  /** Of all processors together; null: as they tell. */
  readonly cpuTotalMhz: number | null
  readonly meta: readonly (readonly [string, string])[]
  readonly hostVolumes: readonly {
    readonly name: string
    readonly path: string
    readonly readOnly: boolean
  }[]
  /** MHz and MiB that are kept for others, and ports as `22,8500-8600`. */
  readonly reserved: {
    readonly cpuMhz: number
    readonly memoryMb: number
    readonly diskMb: number
    readonly ports: string
  }
}

export type DrainOnShutdown = {
  readonly deadlineMs: number
  /** All is stopped at once. */
  readonly force: boolean
  readonly ignoreSystemJobs: boolean
}

/** What the agent runs, and how. */
export type WorkConfig = {
  readonly drivers: readonly DriverName[]
  /** Of the control groups of tasks. */
  readonly cgroupParent: string
  readonly docker: DockerSettings
  /** Allocations that ended, whose files are kept. */
  readonly endedMax: number
  /** Tasks end with the agent. Otherwise they go on, and the next start of the agent finds them. */
  readonly stopsTasks: boolean
  /** No task has longer to end, whatever it asks for. */
  readonly killTimeoutMsMax: number
  readonly artifacts: ArtifactSettings
  /** Of an agent that leaves for good; null: its tasks end at once. */
  readonly drainOnShutdown: DrainOnShutdown | null
}

export type ClientConfig = RuntimeConfig &
  ReloadableSettings & {
    readonly tls: ServerTrustSettings
    readonly client: NonNullable<RuntimeConfig['client']> & {
      readonly node: NodeConfig
      readonly work: WorkConfig
    }
  }
