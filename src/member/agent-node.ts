/** The node of this very agent, as its own registrations name it. */
import type { NodeSpec } from '../domains/catalog/model.ts'

export function nodeOfAgent(
  id: string,
  config: { readonly name: string; readonly advertiseAddr: string; readonly datacenter: string },
): NodeSpec {
  return {
    name: config.name,
    id,
    address: config.advertiseAddr,
    datacenter: config.datacenter,
    taggedAddresses: [],
    meta: [],
  }
}
