/** Who may do what with tasks: by the namespaces of their jobs, which the agent that runs them knows. */
import type { Requirement } from '../../rpc/method.ts'
import type { Services } from '../../rpc/services.ts'
import { defaultNamespace } from '../namespaces/model.ts'
import { agentTasks } from './services.ts'

export const taskRights = ['read-logs', 'alloc-lifecycle'] as const
export type TaskRight = (typeof taskRights)[number]

/** `namespace`: null where there is no such allocation. */
export function toTasksIn(namespace: string | null, access: TaskRight): Requirement {
  return { resource: 'namespace', namespace: namespace ?? defaultNamespace, access }
}

/** As a method of an agent requires it. */
export function toTasks(access: TaskRight) {
  return ({ allocation }: { readonly allocation: string }, service: Services['get']) =>
    toTasksIn(service(agentTasks)?.namespaceOf(allocation) ?? null, access)
}
