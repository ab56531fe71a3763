/**
 * Which requests come from client agents: those with a token that may write the node which the agent says it is. It is the right
 * that keeps a node in the catalog, so every agent of a cluster with access control has it, and no other program needs it.
 */
import type { KnowsAgent } from '../api/passed-on.ts'
import { keyOfName } from '../domains/catalog/model.ts'
import type { Authorizer, Permissions } from '../rpc/authorizer.ts'

/** Where access control is on, and allows nothing by default. */
export function knowsAgents(authorizer: Pick<Authorizer, 'resolve'>): KnowsAgent {
  return ({ node, token, remote, requestId }) => {
    const mayBe = (permissions: Permissions): boolean =>
      permissions.may({ resource: 'node', node: keyOfName(node), access: 'write' })
    try {
      const permissions = authorizer.resolve({ token, remote, requestId })
      return permissions instanceof Promise
        ? permissions.then(mayBe, () => false)
        : mayBe(permissions)
    } catch {
      return false
    }
  }
}
