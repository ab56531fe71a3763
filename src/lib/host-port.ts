/** Hosts with their ports, as people and requests write them. */
import { BlockList, isIP, isIPv6 } from 'node:net'

const everyAddress = new BlockList()
everyAddress.addAddress('0.0.0.0')
everyAddress.addAddress('::', 'ipv6')

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

/** Every address of a machine, in any of its spellings: to listen on, not to connect to. */
export function isWildcard(host: string): boolean {
  return isIn(everyAddress, host)
}

/** Of this machine alone, in any of its spellings. No name is one. */
export function isLoopbackAddress(host: string): boolean {
  return isIn(loopback, host)
}

function isIn(list: BlockList, host: string): boolean {
  const family = isIP(host)
  return family !== 0 && list.check(host.replace(/%.*/, ''), family === 4 ? 'ipv4' : 'ipv6')
}

/** `host:port`, an IPv6 host in brackets. */
export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Where an HTTP API is. */
export type HttpAddress = { readonly secure: boolean; readonly host: string; readonly port: number }

/** Longer ones are seen in names that machines make, and in secrets. */
const shownLabel = /^[a-z0-9-]{1,20}$/

/**
 * Whether a text that a client gave as an address may be repeated: an IP address, or a name in lower case that has a dot or a port, or
 * is `localhost`. Else it may be a secret in the wrong place, as a UUID is.
 */
export function looksLikeAddress(text: string): boolean {
  if (isIP(text) !== 0) return true
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]+))(:[0-9]{1,5})?$/.exec(text)
  if (parts === null) return false
  const [, bracketed, host = '', port] = parts
  if (bracketed !== undefined) return isIPv6(bracketed)
  if (isIP(host) !== 0 || host === 'localhost') return true
  const labels = host.split('.')
  if (!labels.every((label) => shownLabel.test(label))) return false
  return labels.length === 1 ? port !== undefined : /^[a-z]/.test(labels.at(-1) ?? '')
}
