/** What an agent that runs tasks does with them when it is asked, and what of them is on its disk. */
import { serviceKey } from '../../rpc/services.ts'
import type { HostUsage, Usages } from './usage-model.ts'

export const logKinds = ['stdout', 'stderr'] as const
export type LogKind = (typeof logKinds)[number]

export type LogsOf = {
  readonly allocation: string
  readonly task: string
  readonly kind: LogKind
  /** Bytes, from the first that is kept or back from the last. */
  readonly offset: number
  readonly origin: 'start' | 'end'
  /** It goes on with what is written later. */
  readonly follow: boolean
}

export type FileChunk = {
  /** Its name. */
  readonly file: string
  /** In the file. */
  readonly offset: number
  readonly data: Uint8Array
  /** What became of the file; of a chunk without data. */
  readonly event?: 'file deleted' | 'file truncated'
}

/** Of an allocation; its path begins in the allocation's folder. */
export type FileOf = { readonly allocation: string; readonly path: string }

export type FileToRead = FileOf & {
  readonly offset: number
  readonly origin: 'start' | 'end'
  /** Bytes; null: to its end. */
  readonly limit: number | null
  /** It goes on with what is written later. */
  readonly follow: boolean
}

export type FileInfo = {
  readonly name: string
  readonly isDir: boolean
  readonly size: number
  /** As `-rw-r--r--`. */
  readonly mode: string
  readonly modifiedMs: number
}

/** Tasks of an allocation; `task` '': all that run. */
export type TasksOf = { readonly allocation: string; readonly task: string }

export type CommandOf = {
  readonly allocation: string
  readonly task: string
  /** The program and its arguments. */
  readonly command: readonly string[]
  /** It has a terminal. */
  readonly tty: boolean
}

/** Of one that runs. The first names it for `CommandInput`; the last is how it ended. */
export type CommandOutput =
  | { readonly type: 'session'; readonly session: string }
  | { readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | { readonly type: 'exited'; readonly code: number }

export type CommandInput = {
  readonly allocation: string
  readonly session: string
  readonly data?: Uint8Array
  /** It has nothing more to read. */
  readonly ends?: boolean
  /** Of its terminal. */
  readonly size?: { readonly rows: number; readonly columns: number }
}

/** Each throws `not_found` for what is not here. */
export type AgentTasks = {
  /** Of an allocation's job; null: this agent has nothing of it. */
  readonly namespaceOf: (allocation: string) => string | null
  /** Ends soon after the signal. */
  readonly logs: (of: LogsOf, signal: AbortSignal) => AsyncIterable<FileChunk>
  /** Of a folder, by name. These three throw `permission_denied` for secrets and for what is outside. */
  readonly list: (of: FileOf) => Promise<readonly FileInfo[]>
  readonly stat: (of: FileOf) => Promise<FileInfo>
  readonly read: (of: FileToRead, signal: AbortSignal) => Promise<AsyncIterable<FileChunk>>
  /** Throws `conflict` where none runs. `all`: also those that ended, which is `not_implemented` where there is one. */
  readonly restart: (of: TasksOf, all: boolean) => void
  /** The same, and `invalid_argument` for what is no signal. */
  readonly signal: (of: TasksOf, signal: string) => void
  /** Whether commands beside the task have the agent's own rights. */
  readonly runsAsAgent: (of: TasksOf) => boolean
  /** Runs a command beside a task, until one of them ends or the signal fires. Throws `conflict` where the task does not run. */
  readonly exec: (of: CommandOf, signal: AbortSignal) => Promise<AsyncIterable<CommandOutput>>
  /** False: it has too much to read already, and took nothing. */
  readonly input: (input: CommandInput) => Promise<boolean>
  /** What those take that run. */
  readonly usage: (of: TasksOf) => Promise<Usages>
  /** Of this machine, and how servers call it. */
  readonly hostUsage: () => Promise<HostUsage>
  readonly nodeName: string
}

/** Provided by every process; null: it runs no tasks. */
export const agentTasks = serviceKey<AgentTasks | null>('tasks.agent')
