/** Who may see drains: by the names of their nodes, and of what runs there by the namespaces of its jobs. */
import type { Requirement } from '../../rpc/method.ts'
import { keyOfName } from '../catalog/model.ts'

/** Of one that is not there: the right to nodes without a name. */
export function readsNode(name: string): Requirement {
  return { resource: 'node', node: keyOfName(name), access: 'read' }
}

export function readsJobsIn(namespace: string): Requirement {
  return { resource: 'namespace', namespace, access: 'read-job' }
}
