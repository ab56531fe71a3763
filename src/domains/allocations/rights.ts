/** Who may see and change allocations: by the namespaces of their jobs. */
import type { LeastRight, Requirement } from '../../rpc/method.ts'

export const leastForAllocations: readonly LeastRight[] = [
  { resource: 'namespace', access: 'read' },
]

export function readsJobsIn(namespace: string): Requirement {
  return { resource: 'namespace', namespace, access: 'read-job' }
}

export function changesAllocationsIn(namespace: string): Requirement {
  return { resource: 'namespace', namespace, access: 'alloc-lifecycle' }
}

export function submitsJobsIn(namespace: string): Requirement {
  return { resource: 'namespace', namespace, access: 'submit-job' }
}
