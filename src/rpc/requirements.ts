/** Requirements that several domains have. */
import type { LeastRight, Requirement } from './method.ts'

/** With the words of Nomad's capabilities. */
export type NamespaceRight =
  | 'list-jobs'
  | 'parse-job'
  | 'read-job'
  | 'submit-job'
  | 'dispatch-job'
  | 'scale-job'
  | 'alloc-lifecycle'

export const leastForNamespaces: readonly LeastRight[] = [{ resource: 'namespace', access: 'read' }]

/** To what jobs are and cause. */
export function inNamespace(namespace: string, access: NamespaceRight): Requirement {
  return { resource: 'namespace', namespace, access }
}

/** By its name as the catalog compares them; '': of one that is not there, the right to nodes without a name. */
export function toNode(node: string, access: 'read' | 'write'): Requirement {
  return { resource: 'node', node, access }
}
