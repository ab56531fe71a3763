/** Requirements that several domains have: to what jobs are and cause, by their namespaces, with the words of Nomad's capabilities. */
import type { LeastRight, Requirement } from './method.ts'

export type NamespaceRight =
  | 'list-jobs'
  | 'parse-job'
  | 'read-job'
  | 'submit-job'
  | 'dispatch-job'
  | 'scale-job'
  | 'alloc-lifecycle'

export const leastForNamespaces: readonly LeastRight[] = [{ resource: 'namespace', access: 'read' }]

export function inNamespace(namespace: string, access: NamespaceRight): Requirement {
  return { resource: 'namespace', namespace, access }
}
