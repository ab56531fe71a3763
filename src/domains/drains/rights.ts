/** Who may see drains: by the names of their nodes. */
import type { Requirement } from '../../rpc/method.ts'
import { keyOfName } from '../catalog/model.ts'

/** Of one that is not there: the right to nodes without a name. */
export function readsNode(name: string): Requirement {
  return { resource: 'node', node: keyOfName(name), access: 'read' }
}
