/** Tasks, of which the agent that runs them takes care; a server knows whose agent that is. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLocalMethod, defineQuery, defineStreamMethod } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import type { Services } from '../../rpc/services.ts'
import { allocationById } from '../allocations/queries.ts'
import {
  FileChunkAnswer,
  FileInfoAnswer,
  FileInfosAnswer,
  HostUsageAnswer,
  UsagesAnswer,
} from './answer-model.ts'
import { missingRight, readsMachine, taskRights, toTasks, toTasksIn, toTasksOf } from './rights.ts'
import { agentTasks, logKinds, type AgentTasks } from './services.ts'

const taskNameLengthMax = 1_024
const signalLengthMax = 64
const pathLengthMax = 4_096

export const Allocation = Type.String({ maxLength: 64 })
export const Task = Type.String({ minLength: 1, maxLength: taskNameLengthMax })
/** '': all that run. */
const TaskOrAll = Type.String({ maxLength: taskNameLengthMax })
const File = Type.Object({
  allocation: Allocation,
  path: Type.String({ maxLength: pathLengthMax }),
})
const Offset = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Origin = Type.Enum(['start', 'end'])

/** The node that it is on. The node's agent looks at the caller's rights itself. */
const place = defineQuery({
  kind: 'query',
  name: 'tasks.place',
  args: Type.Object({ allocation: Allocation, access: Type.Enum([...taskRights]) }),
  requires: () => ({ resource: 'none' }),
  query: (reader, { allocation, access }, context) => {
    const row = allocationById(reader, allocation)
    mustMay(context, toTasksIn(row?.namespace ?? null, access), missingRight(access))
    if (row === null) throw unknown(allocation)
    return { value: row.nodeId, index: row.modifyIndex }
  },
})

/** Nothing is done. Before an agent looks at what else a request says of its allocation. */
const check = defineLocalMethod({
  kind: 'local',
  name: 'tasks.check',
  args: Type.Object({ allocation: Allocation, access: Type.Enum([...taskRights]) }),
  requires: () => ({ resource: 'none' }),
  run: (context, { allocation, access }): Promise<null> => {
    mustMay(context, toTasksOf(context.service, allocation, access), missingRight(access))
    return Promise.resolve(null)
  },
})

const logs = defineStreamMethod({
  kind: 'stream',
  name: 'tasks.logs',
  args: Type.Object({
    allocation: Allocation,
    task: Task,
    kind: Type.Enum([...logKinds]),
    offset: Offset,
    origin: Origin,
    follow: Type.Boolean(),
  }),
  answer: FileChunkAnswer,
  ...toTasks('read-logs'),
  open: ({ service, signal }, args) => tasksOf(service, args).logs(args, signal),
})

const list = defineLocalMethod({
  kind: 'local',
  name: 'tasks.list',
  args: File,
  answer: FileInfosAnswer,
  ...toTasks('read-fs'),
  run: ({ service }, args) => tasksOf(service, args).list(args),
})

const stat = defineLocalMethod({
  kind: 'local',
  name: 'tasks.stat',
  args: File,
  answer: FileInfoAnswer,
  ...toTasks('read-fs'),
  run: ({ service }, args) => tasksOf(service, args).stat(args),
})

const read = defineStreamMethod({
  kind: 'stream',
  name: 'tasks.read',
  args: Type.Object({
    ...File.properties,
    offset: Offset,
    origin: Origin,
    limit: Type.Union([Type.Null(), Offset]),
    follow: Type.Boolean(),
  }),
  answer: FileChunkAnswer,
  ...toTasks('read-fs'),
  open: ({ service, signal }, args) => tasksOf(service, args).read(args, signal),
})

const restart = defineLocalMethod({
  kind: 'local',
  name: 'tasks.restart',
  args: Type.Object({ allocation: Allocation, task: TaskOrAll, all: Type.Boolean() }),
  answer: Type.Null(),
  ...toTasks('alloc-lifecycle'),
  run: async ({ service }, args): Promise<null> => {
    tasksOf(service, args).restart(args, args.all)
    return Promise.resolve(null)
  },
})

const signal = defineLocalMethod({
  kind: 'local',
  name: 'tasks.signal',
  args: Type.Object({
    allocation: Allocation,
    task: TaskOrAll,
    signal: Type.String({ minLength: 1, maxLength: signalLengthMax }),
  }),
  answer: Type.Null(),
  ...toTasks('alloc-lifecycle'),
  run: async ({ service }, args): Promise<null> => {
    tasksOf(service, args).signal(args, args.signal)
    return Promise.resolve(null)
  },
})

const usage = defineLocalMethod({
  kind: 'local',
  name: 'tasks.usage',
  args: Type.Object({ allocation: Allocation, task: TaskOrAll }),
  answer: UsagesAnswer,
  ...toTasks('read-job'),
  run: ({ service }, args) => tasksOf(service, args).usage(args),
})

const hostUsage = defineLocalMethod({
  kind: 'local',
  name: 'tasks.hostUsage',
  args: Type.Object({}),
  answer: HostUsageAnswer,
  requires: (_, service) => readsMachine(service),
  run: ({ service }) => {
    const tasks = service(agentTasks)
    if (tasks !== null) return tasks.hostUsage()
    throw new MusterError('invalid_argument', 'a server runs no tasks: name a node with node_id')
  },
})

/** Of this agent, which has the allocation. */
export function tasksOf(
  service: Services['get'],
  { allocation }: { readonly allocation: string },
): AgentTasks {
  const tasks = service(agentTasks)
  if (tasks?.namespaceOf(allocation) == null) throw unknown(allocation)
  return tasks
}

function unknown(allocation: string): MusterError {
  return new MusterError('not_found', `unknown allocation ${JSON.stringify(allocation)}`)
}

export const taskMethods = {
  place,
  check,
  logs,
  list,
  stat,
  read,
  restart,
  signal,
  usage,
  hostUsage,
}
