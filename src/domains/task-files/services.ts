/** What an agent that runs tasks has of them on its disk. */
import { serviceKey } from '../../rpc/services.ts'

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

export type LogChunk = {
  /** Its name. */
  readonly file: string
  /** In the file. */
  readonly offset: number
  readonly data: Uint8Array
}

export type TaskFiles = {
  /** Of an allocation's job; null: this agent has no files of it. */
  readonly namespaceOf: (allocation: string) => string | null
  /** Throws `not_found` for what is not here. Ends soon after the signal. */
  readonly logs: (of: LogsOf, signal: AbortSignal) => AsyncIterable<LogChunk>
}

/** Provided by every process; null: it runs no tasks. */
export const taskFiles = serviceKey<TaskFiles | null>('taskFiles.agent')
