/** Who may see and change deployments: by the namespaces of their jobs. */
import type { LeastRight, Requirement } from '../../rpc/method.ts'

export const leastForDeployments: readonly LeastRight[] = [
  { resource: 'namespace', access: 'read' },
]

export function inNamespace(namespace: string, access: 'read-job' | 'submit-job'): Requirement {
  return { resource: 'namespace', namespace, access }
}
