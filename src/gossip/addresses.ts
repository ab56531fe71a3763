/** Addresses as people write them: whom to join, and where this member says that it is reached. */
import { lookup } from 'node:dns/promises'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { MusterError } from '../lib/errors.ts'
import type { Endpoint } from './core/message.ts'
import { parseAddress } from './wire/address.ts'

/** What is used of the answer for one name. */
export const addressesPerNameMax = 32
const hostLengthMax = 253

export type Place = { readonly host: string; readonly port: number }

/**
 * `host`, `host:port`, `[v6]:port` or a bare IPv6 address, where a host is a name or an IP address. Throws
 * invalid_argument.
 */
export function parsePlace(text: string, defaultPort: number): Place {
  if (isIPv6(text)) return { host: text, port: defaultPort }
  const [, bracketed, plain, port] =
    /^(?:\[([^\]]+)\]|([^:[\]]+))(?::([0-9]{1,5}))?$/.exec(text) ?? []
  const host = bracketed ?? plain
  const number = port === undefined ? defaultPort : Number(port)
  const fine =
    host !== undefined &&
    host.length <= hostLengthMax &&
    (bracketed === undefined ? /^[\w.-]+$/.test(host) : isIPv6(host)) &&
    number >= 1 &&
    number <= 65_535
  if (fine) return { host, port: number }
  throw new MusterError(
    'invalid_argument',
    `${JSON.stringify(text.slice(0, hostLengthMax))} is no gossip address; write a name or an IP address, with or without a port, as in "10.0.0.1:4648"`,
  )
}

/** All addresses of a name by the system's resolver. Rejects with the resolver's error. */
export async function resolveName(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true })
  return found.map(({ address }) => address)
}

/** `advertise` as in the options of a node; `bound` is where it listens. Throws invalid_argument. */
export function advertisedEndpoint(advertise: string | null, bound: Endpoint): Endpoint {
  if (advertise !== null) {
    const { host, port } = parsePlace(advertise, bound.port)
    const address = parseAddress(host)
    if (address !== null && address.some((byte) => byte !== 0)) return { address, port }
    throw new MusterError(
      'invalid_argument',
      `${JSON.stringify(advertise)} cannot be advertised to others; write an IP address of this machine that they reach`,
    )
  }
  if (bound.address.some((byte) => byte !== 0)) return bound
  const address = outsideAddress(bound.address.length)
  if (address !== null) return { address, port: bound.port }
  throw new MusterError(
    'invalid_argument',
    'gossip listens on all addresses, and this machine has none that others could reach; name one to advertise',
  )
}

/** The first address of this machine that is neither loopback nor for one link only. */
function outsideAddress(bytes: number): Uint8Array | null {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  for (const { internal, address } of all) {
    const parsed = internal ? null : parseAddress(address)
    if (parsed === null || isLinkLocal(parsed)) continue
    // A socket on all IPv6 addresses takes IPv4 as well.
    if (parsed.length === bytes || bytes === 16) return parsed
  }
  return null
}

function isLinkLocal([first = 0, second = 0, ...rest]: Uint8Array): boolean {
  return rest.length === 2 ? first === 169 && second === 254 : first === 0xfe && second >> 6 === 2
}
