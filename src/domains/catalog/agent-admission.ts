/**
 * How a client agent gets its node: it registers the node itself, with its token, and the leader asks back at the gossip
 * address that the node names before it believes. Members of the gossip pool that do not register have no node.
 */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod } from '../../rpc/method.ts'
import { gossipEndpointOf } from './agent-node-model.ts'
import {
  checkNode,
  keyOfName,
  membershipCheck,
  membershipCheckId,
  membershipOutputs,
  NodeSpec,
  sameRecord,
} from './model.ts'
import { checkOf, nodeOf } from './queries.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { assertRegistered, writesNode } from './register-methods.ts'
import { registerNode } from './commands.ts'
import { agentAdmission, knownNodes } from './services.ts'

const registerAgent = defineLeaderMethod({
  kind: 'leader',
  name: 'catalog.registerAgent',
  args: Type.Object({ node: NodeSpec }),
  // Judged by the node's name, in the letters that its key has.
  requires: () => ({ resource: 'none' }),
  run: async (context, args): Promise<{ readonly index: number }> => {
    mustMay(context, writesNode(args.node.name))
    const node = checkNode(args.node)
    const { id } = node
    const endpoint = gossipEndpointOf(node)
    if (id === null || endpoint === null) {
      const text = 'an agent registers its node with ID and NodeMeta.muster-gossip, an ip:port'
      throw new MusterError('invalid_argument', text)
    }
    const servers = context.service(knownNodes).servers()
    if (servers.some((server) => server.id === id || sameName(server, node))) {
      throw new MusterError('conflict', `a server of the cluster is called ${node.name}`)
    }
    const reader = context.read()
    const known = nodeOf(reader, node.name)
    const check = checkOf(reader, node.name, membershipCheckId)
    if (known !== null && known.id !== id && check !== null && check.status !== 'critical') {
      assertRegistered(
        { type: 'nameTaken', id: known.id ?? '' },
        { node, skipNodeUpdate: false, service: null, checks: [] },
      )
    }
    const stands = known !== null && sameRecord(known, { ...known, ...node, name: known.name })
    if (stands && check !== null && check.status === 'passing') return { index: known.modifyIndex }
    await context.service(agentAdmission).admit({ endpoint, id, isNew: known?.id !== id })
    const registration = {
      node,
      skipNodeUpdate: false,
      service: null,
      checks: [membershipCheck('passing', membershipOutputs.alive)],
    }
    const { index, outcome } = await context.propose(registerNode, {
      ...registration,
      nowMs: Math.floor(context.clock.wallMs()),
    })
    assertRegistered(outcome, registration)
    context.log.info('a client agent has its node', { node: keyOfName(node.name) })
    return { index }
  },
})

export const agentAdmissionMethods = { registerAgent }

type Named = { readonly name: string }

function sameName(one: Named, other: Named): boolean {
  return keyOfName(one.name) === keyOfName(other.name)
}
