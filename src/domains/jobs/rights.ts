/** Who may see and change jobs: by their namespaces. */
import type { LeastRight, Requirement } from '../../rpc/method.ts'

export const leastForJobs: readonly LeastRight[] = [{ resource: 'namespace', access: 'read' }]

export function inNamespace(
  namespace: string,
  access: 'list-jobs' | 'parse-job' | 'read-job' | 'submit-job' | 'dispatch-job' | 'scale-job',
): Requirement {
  return { resource: 'namespace', namespace, access }
}
