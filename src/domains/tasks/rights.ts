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

/** What a refusal says is missing: the same of every allocation, there or not. */
export function missingRight(access: TaskRight): string {
  return `'namespace:${access}' on the allocation's namespace`
}

/** As a method of an agent requires it. */
export function toTasks(access: TaskRight) {
  return {
    missing: missingRight(access),
    requires: ({ allocation }: { readonly allocation: string }, service: Services['get']) =>
      toTasksOf(service, allocation, access),
  }
}

/** To those of this allocation, if this agent runs it. */
export function toTasksOf(
  service: Services['get'],
  allocation: string,
  access: TaskRight,
): Requirement {
  return toTasksIn(service(agentTasks)?.namespaceOf(allocation) ?? null, access)
}
