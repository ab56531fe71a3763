/** Networks as they are written, `10.0.0.0/8` or an address alone. */
import { isIP } from 'node:net'

type Network = { readonly family: Family; readonly address: string; readonly prefix: number }

/** null: it cannot be read. An address alone is a network of one. */
export function networkOf(cidr: string): Network | null {
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

/** null: it is no address. */
export function familyOf(address: string): Family | null {
  const version = isIP(address)
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : null
}
