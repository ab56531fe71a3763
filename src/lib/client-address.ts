/**
 * How the limits identify a client: its address, known before anything of a request is read and not to be chosen freely.
 * A token would be another answer, but whole fleets share one, and a client that guesses tokens has none.
 */
import { isIPv6 } from 'node:net'

/** Parts of 16 bits that one subscriber's network is told by (RFC 6177): the rest may be drawn anew at will. */
const networkParts = 4
const addressParts = 8

/** The address as others write it; IPv4 in IPv6 is IPv4. What comes through memory in tests is loopback. */
export function addressOf(address: string | undefined): string {
  if (address === undefined) return '127.0.0.1'
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}

/** IPv4 as it is; IPv6 by its /64, as in `2001:db8:0:1::/64`. */
export function clientOf(address: string): string {
  if (!address.includes(':') || !isIPv6(address)) return address
  const [plain = ''] = address.split('%')
  const [front = '', back] = plain.split('::')
  const parts = partsOf(front)
  if (back !== undefined) {
    const behind = partsOf(back)
    // An IPv4 tail stands for two parts; it is behind the network in any case.
    const missing = addressParts - parts.length - behind.length - (back.includes('.') ? 1 : 0)
    for (let at = 0; at < missing; at += 1) parts.push('0')
    parts.push(...behind)
  }
  const network = parts.slice(0, networkParts).map((part) => parseInt(part, 16).toString(16))
  return `${network.join(':')}::/64`
}

function partsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}
