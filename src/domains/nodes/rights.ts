/** Who may see and change client nodes: by their names, as nodes of the catalog. */
import type { LeastRight, Requirement } from '../../rpc/method.ts'
import { toNode } from '../../rpc/requirements.ts'
import { keyOfName } from '../catalog/model.ts'

export const leastForNodes: readonly LeastRight[] = [{ resource: 'node', access: 'read' }]

export const readsOperator = { resource: 'operator', access: 'read' } as const

/** Of one that is not there: the right to nodes without a name, as `node { policy = "read" }` gives it. */
export function readsNode(name: string): Requirement {
  return toNode(keyOfName(name), 'read')
}

export function writesNode(name: string): Requirement {
  return toNode(keyOfName(name), 'write')
}
