/**
 * What a driver is to the runner: the one way by which a task is started, found again after a restart of the agent, and ended.
 *
 * A driver keeps nothing on disk and decides nothing: when a task starts, is asked to end and is killed is the runner's word. A
 * task outlives the agent; the handle is all that it is found again by.
 */
import Type, { type Static } from 'typebox'
import type { AllocatedPort } from '../../domains/allocations/model.ts'
import { MusterError } from '../../lib/errors.ts'
import type { RunningCommand } from './exec-process.ts'

export const ContainerId = Type.String({ pattern: '^[0-9a-f]{12,64}$' })

/** What is needed to find a started task again. */
export const Handle = Type.Union([
  Type.Object({
    type: Type.Literal('process'),
    pid: Type.Integer({ minimum: 2 }),
    /** Clock ticks from the machine's start to the process's: with the pid it names one process of this boot. */
    startTicks: Type.String({ pattern: '^[0-9]{1,20}$' }),
    bootId: Type.String({ maxLength: 64 }),
  }),
  Type.Object({ type: Type.Literal('mock'), startedMs: Type.Number() }),
  Type.Object({ type: Type.Literal('docker'), containerId: ContainerId }),
])
export type Handle = Readonly<Static<typeof Handle>>

/** Throws `corrupt` for a handle of another driver. */
export function ownHandle<Kind extends Handle['type']>(
  handle: Handle,
  kind: Kind,
): Extract<Handle, { readonly type: Kind }> {
  const isOwn = (one: Handle): one is Extract<Handle, { readonly type: Kind }> => one.type === kind
  if (isOwn(handle)) return handle
  throw new MusterError('corrupt', 'the handle is of another driver')
}

/** How a task ended. `unknown`: the agent was away when it did. */
export type Exit =
  | {
      readonly type: 'known'
      /** 128 + signal where a signal ended it. */
      readonly code: number
      /** 0: none. */
      readonly signal: number
      readonly message: string
      /** It took more memory than it has. */
      readonly oomKilled?: true
      /** It did not succeed, whatever its code says. */
      readonly hasFailed?: true
      /** Why the end of its output may be lost, in words. */
      readonly outputLost?: string
    }
  | { readonly type: 'unknown'; readonly reason: string }

/**
 * What a task has as its root: that of the machine; one of its own, made of parts of it; or an image, whose environment it has
 * too. In the latter two the folders of its allocation are at the places of `foldersInRoot`.
 */
export type Root = 'machine' | 'own' | 'image'

export const foldersInRoot = { shared: '/alloc', local: '/local', secrets: '/secrets' } as const

/** A file or folder of the machine that a task finds elsewhere. Both are absolute. */
export type Mount = {
  readonly source: string
  readonly destination: string
  readonly readOnly: boolean
}

export type TaskToStart = {
  readonly allocation: string
  readonly task: string
  /** `Config` of the task, with its variables replaced. */
  readonly config: Readonly<Record<string, unknown>>
  readonly user: string
  /** All of it; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  /** Where it runs, on the machine. */
  readonly folder: string
  /** Folders on the machine: that which the tasks of the allocation share, and two of its own. */
  readonly shared: string
  readonly local: string
  readonly secrets: string
  /** Volumes; none where the driver mounts none. */
  readonly mounts: readonly Mount[]
  readonly resources: {
    readonly cpuMhz: number
    /** That is kept for it. */
    readonly memoryMb: number
    /** At most: above it the kernel ends it. null: there is no limit. */
    readonly memoryMaxMb: number | null
  }
  /** Of the allocation. */
  readonly ports: readonly AllocatedPort[]
  /** Files that its output is appended to. */
  readonly stdout: string
  readonly stderr: string
  /** A folder of the driver's own, for this task. */
  readonly runFolder: string
  /** Of this run of the task alone, known on the disk before it is started. Absent: of whichever run. */
  readonly run?: string
}

export type Exec = { readonly words: readonly string[]; readonly tty: boolean }

/** Of processors, per cent of one of them. */
export type ResourceUse = {
  readonly percent: number
  readonly userPercent: number
  readonly systemPercent: number
  readonly rssBytes: number
  readonly swapBytes: number
}

/** How a driver is that depends on its machine, or on another program. */
export type DriverCondition = {
  readonly detected: boolean
  readonly healthy: boolean
  readonly description: string
  /** Beside `driver.NAME`. */
  readonly attributes: readonly (readonly [string, string])[]
}

export interface StartedTask {
  readonly handle: Handle
  /** What asks it to end where its job names no signal; absent: `SIGINT`. */
  readonly killSignal?: string
  /** What it takes, where it is no process of this machine's agent. May reject. */
  readonly usage?: () => Promise<ResourceUse>
  /** Never rejects. What the task left running is gone when it resolves. */
  readonly ended: Promise<Exit>
  /** To the task alone. Throws `invalid_argument` for what is no signal, `unavailable` where it cannot be sent. */
  signal(name: string): void
  /** At once, with all that it started. */
  kill(): void
  /** Lets go of it: it runs on, and `ended` may never resolve. */
  release(): void
}

/** On the machine. */
export type FoldersOfTask = {
  readonly task: string
  readonly local: string
  readonly secrets: string
  readonly shared: string
  readonly logs: string
}

export interface Driver {
  readonly name: string
  /** What its machine lets it do, found out once. Absent: all of it. */
  readonly health?: DriverCondition
  readonly root: Root
  /** Whether it makes the mounts of a task. */
  readonly mountsVolumes: boolean
  /** Gives its folders to the user of a task, before anything is put there. Throws `invalid_argument` for an unknown user. */
  prepare?(folders: FoldersOfTask, user: string): Promise<void>
  /**
   * Throws `unavailable` where another try may help, anything else where none will. `signal` fires when the task is not wanted any
   * more: a start under way ends soon after. `tell`: of what takes long, for the events of the task.
   */
  start(task: TaskToStart, signal: AbortSignal, tell: (text: string) => void): Promise<StartedTask>
  /** What was started before this process of the agent, also where it ended since. */
  recover(task: TaskToStart, handle: Handle): StartedTask
  /** One that was started, and whose handle was not written: null where there is none. */
  find(task: TaskToStart): Promise<StartedTask | null>
  /** Whether what it runs has the agent's own rights. */
  readonly runsAsAgent: boolean
  /** Asked from time to time. Absent: it is as healthy as the agent. Never rejects. */
  readonly condition?: () => Promise<DriverCondition>
  /** Ends what it started for allocations that nobody wants. May reject. */
  readonly sweep?: (isWanted: (allocation: string) => boolean) => Promise<void>
  /** Runs a command beside a task. Throws `not_implemented` where it cannot. */
  exec(task: TaskToStart, command: Exec): Promise<RunningCommand>
}
