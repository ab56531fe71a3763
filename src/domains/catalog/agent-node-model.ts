/** What an agent's own node tells besides its name and address, in the node's meta. */
import { isIPv4, isIPv6 } from 'node:net'
import type { NodeSpec } from './model.ts'

/** Of the program. */
export const versionMeta = 'muster-version'
/** Where the agent's gossip is reached, `ip:port`: the leader asks there before it believes that the agent is gone. */
export const gossipMeta = 'muster-gossip'

/** Null: the node does not tell, or not as an IP address and a port. */
export function gossipEndpointOf({ meta }: Pick<NodeSpec, 'meta'>): string | null {
  const text = meta.find(([name]) => name === gossipMeta)?.[1] ?? ''
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text) ?? []
  const isAddress = bracketed === undefined ? isIPv4(plain ?? '') : isIPv6(bracketed)
  const number = Number(port)
  return isAddress && number >= 1 && number <= 65_535 ? text : null
}
