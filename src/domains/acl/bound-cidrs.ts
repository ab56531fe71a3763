/** The networks that a token may be used from, compiled once for many requests. */
import { BlockList } from 'node:net'
import { addressOf } from '../../lib/client-address.ts'
import type { Permissions } from '../../rpc/authorizer.ts'
import { denied } from '../../rpc/refusal.ts'
import { familyOf, networkOf } from './network-model.ts'

/** Whether a caller's address is in one of the networks. */
export type Admits = (remote: string) => boolean

/** A network that cannot be read has no address in it. An address alone is a network of one. */
export function admittedBy(cidrs: readonly string[]): Admits {
  // One for each family: a list takes IPv4 for a part of IPv6, so that `::/0` would admit it.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const cidr of cidrs) {
    const network = networkOf(cidr)
    if (network === null) continue
    const { family, address, prefix } = network
    lists[family].addSubnet(address, prefix, family)
  }
  return (remote) => {
    const [address = ''] = addressOf(remote).split('%')
    const family = familyOf(address)
    return family !== null && lists[family].check(address, family)
  }
}

/** The permissions, where the caller may have them. Promises nothing where it can answer at once. */
export function admitted(
  found: { readonly permissions: Permissions; readonly admits: Admits | null },
  remote: string,
): Permissions | Promise<Permissions> {
  const { permissions, admits } = found
  if (admits === null || admits(remote)) return permissions
  return Promise.reject(denied(`the token may not be used from the address ${remote}`))
}
