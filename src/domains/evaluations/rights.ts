/** Who may see evaluations: by the namespaces of their jobs. */
import type { LeastRight, Requirement } from '../../rpc/method.ts'

export const leastForEvaluations: readonly LeastRight[] = [
  { resource: 'namespace', access: 'read' },
]

export function readsJobsIn(namespace: string): Requirement {
  return { resource: 'namespace', namespace, access: 'read-job' }
}
