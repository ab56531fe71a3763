/** Hosts with their ports, as people and requests write them. */
import { isIP, isIPv6 } from 'node:net'

/** Every address of a machine: to listen on, not to connect to. */
export const wildcards: readonly string[] = ['0.0.0.0', '::']

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
