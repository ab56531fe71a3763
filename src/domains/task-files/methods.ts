/** Files of tasks, which the agent that runs them reads; a server knows whose agent that is. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineQuery, defineStreamMethod, type Requirement } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { allocationById } from '../allocations/queries.ts'
import { defaultNamespace } from '../namespaces/model.ts'
import { logKinds, taskFiles } from './services.ts'

const Allocation = Type.String({ maxLength: 64 })
const mayReadLogs = "'read-logs' in the allocation's namespace"
const taskNameLengthMax = 1_024

/** The node that it is on. The node's agent looks at the caller's rights itself. */
const place = defineQuery({
  kind: 'query',
  name: 'taskFiles.place',
  args: Type.Object({ allocation: Allocation }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { allocation }, context) => {
    const row = allocationById(reader, allocation)
    mustMay(context, readsLogs(row?.namespace ?? defaultNamespace), mayReadLogs)
    if (row === null) throw unknown(allocation)
    return { value: row.nodeId, index: row.modifyIndex }
  },
})

const logs = defineStreamMethod({
  kind: 'stream',
  name: 'taskFiles.logs',
  args: Type.Object({
    allocation: Allocation,
    task: Type.String({ minLength: 1, maxLength: taskNameLengthMax }),
    kind: Type.Enum([...logKinds]),
    offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    origin: Type.Enum(['start', 'end']),
    follow: Type.Boolean(),
  }),
  requires: ({ allocation }, service) =>
    readsLogs(service(taskFiles)?.namespaceOf(allocation) ?? defaultNamespace),
  open: ({ service, signal }, args) => {
    const files = service(taskFiles)
    if (files?.namespaceOf(args.allocation) == null) throw unknown(args.allocation)
    return files.logs(args, signal)
  },
})

function readsLogs(namespace: string): Requirement {
  return { resource: 'namespace', namespace, access: 'read-logs' }
}

function unknown(allocation: string): MusterError {
  return new MusterError('not_found', `unknown allocation ${JSON.stringify(allocation)}`)
}

export const taskFileMethods = { place, logs }
