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
  /** What those take that run. */
  readonly usage: (of: TasksOf) => Promise<Usages>
  /** Of this machine, and how servers call it. */
  readonly hostUsage: () => Promise<HostUsage>
  readonly nodeName: string
}

/** Provided by every process; null: it runs no tasks. */
export const agentTasks = serviceKey<AgentTasks | null>('tasks.agent')
