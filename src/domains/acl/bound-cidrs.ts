/** The networks that a token may be used from, compiled once for many requests. */
import { BlockList, isIP } from 'node:net'
import { addressOf } from '../../lib/client-address.ts'
import type { Permissions } from '../../rpc/authorizer.ts'
import { denied } from '../../rpc/refusal.ts'

/** Whether a caller's address is in one of the networks. */
export type Admits = (remote: string) => boolean

/** A network that cannot be read has no address in it. An address alone is a network of one. */
export function admittedBy(cidrs: readonly string[]): Admits {
  // One for each family: a list takes IPv4 for a part of IPv6, so that `::/0` would admit it.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const cidr of cidrs) {
    const network = networkOf(cidr)
    if (network !== null)
      lists[network.family].addSubnet(network.address, network.prefix, network.family)
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

type Network = { readonly family: Family; readonly address: string; readonly prefix: number }

function networkOf(cidr: string): Network | null {
  const [, address = '', length] = /^([^/%]*)(?:\/(\d{1,3}))?$/.exec(cidr) ?? []
  const family = familyOf(address)
  if (family === null) return null
  const bits = family === 'ipv4' ? 32 : 128
  const prefix = length === undefined ? bits : Number(length)
  if (prefix > bits) return null
  const mapped = family === 'ipv6' && prefix >= mappedBits ? mappedAddress(address) : null
  if (mapped === null) return { family, address, prefix }
  return { family: 'ipv4', address: mapped, prefix: prefix - mappedBits }
}

/** Of `::ffff:0:0/96`, where IPv4 is within IPv6: callers from there are known by their IPv4 address. */
const mappedBits = 96

/** As IPv4; null: it is no such address. */
function mappedAddress(address: string): string | null {
  // However it is written, a URL has its parts in hexadecimal.
  const [, high, low] =
    /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(new URL(`http://[${address}]`).hostname) ?? []
  if (high === undefined || low === undefined) return null
  const [left, right] = [parseInt(high, 16), parseInt(low, 16)]
  return [left >> 8, left & 255, right >> 8, right & 255].join('.')
}

type Family = 'ipv4' | 'ipv6'

function familyOf(address: string): Family | null {
  const version = isIP(address)
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : null
}
