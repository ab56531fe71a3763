/** Who may do what with tasks: by the namespaces of their jobs, which the agent that runs them knows. */
import type { Requirement } from '../../rpc/method.ts'
import type { Services } from '../../rpc/services.ts'
import { toNode } from '../../rpc/requirements.ts'
import { keyOfName } from '../catalog/model.ts'
import { defaultNamespace } from '../namespaces/model.ts'
import { agentTasks } from './services.ts'

export const taskRights = [
  'read-logs',
  'read-fs',
  'read-job',
  'alloc-lifecycle',
  'alloc-exec',
  'alloc-node-exec',
] as const
export type TaskRight = (typeof taskRights)[number]

/** `namespace`: null where there is no such allocation. */
export function toTasksIn(namespace: string | null, access: TaskRight): Requirement {
  return { resource: 'namespace', namespace: namespace ?? defaultNamespace, access }
}

/** To this very machine; a server has none. */
export function readsMachine(service: Services['get']): Requirement {
  const name = service(agentTasks)?.nodeName ?? null
  return name === null ? { resource: 'node', access: 'read' } : toNode(keyOfName(name), 'read')
}

/** As a method of an agent requires it. */
export function toTasks(access: TaskRight) {
  return ({ allocation }: { readonly allocation: string }, service: Services['get']) =>
    toTasksIn(service(agentTasks)?.namespaceOf(allocation) ?? null, access)
}
