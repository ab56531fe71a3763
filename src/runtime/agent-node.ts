/** The node of this very agent, as its own registrations name it. */
import { gossipMeta, versionMeta } from '../domains/catalog/agent-node-model.ts'
import type { NodeSpec } from '../domains/catalog/model.ts'

export function nodeOfAgent(
  id: string,
  config: { readonly name: string; readonly datacenter: string },
  agent: {
    /** Of the program. */
    readonly version: string
    /** Where others reach it. */
    readonly address: string
    /** Where the leader asks it whether it lives; null: it is a server, and known by Raft. */
    readonly gossip: string | null
  },
): NodeSpec {
  const { version, address, gossip } = agent
  return {
    name: config.name,
    id,
    address,
    datacenter: config.datacenter,
    taggedAddresses: [
      ['lan', address],
      ['wan', address],
    ],
    // In the order of their names, as the catalog keeps them.
    meta: [...(gossip === null ? [] : [[gossipMeta, gossip] as const]), [versionMeta, version]],
  }
}
