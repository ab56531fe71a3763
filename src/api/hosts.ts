/**
 * Which `Host` a listener answers for. A page whose DNS name was pointed at this machine after it was loaded (DNS
 * rebinding) is, for its browser, of the same origin as this API; but the browser names the page's host. So a name has to
 * be one of this agent's or one of the configuration's. An address needs no look-up that could be turned: all are taken,
 * since a port forward or NAT has addresses that no agent knows.
 */
import { isIP, isIPv6 } from 'node:net'

export type HostSettings = {
  /** Of this agent and its machine. */
  readonly ownNames: readonly string[]
  /** A name, `*.` and a name for all below it, or `*` for any host at all. */
  readonly allowedHosts: readonly string[]
}

/** Tells whether a certificate is for a name: a browser has checked that before it asked. */
export type NamedByCertificate = { isFor(name: string): boolean }

/** Headers that were judged good are remembered, so that the next one costs one look-up. At the bound all are forgotten. */
export const hostsRememberedMax = 256

/** Every browser resolves it to loopback by itself. */
const loopbackName = 'localhost'

export class Hosts {
  readonly #certificates: NamedByCertificate[] = []
  readonly #listening = new Set<string>([loopbackName])
  /** Headers as they were sent. */
  readonly #good = new Set<string>()
  #names: ReadonlySet<string> = new Set()
  /** `.example.com` */
  #endings: readonly string[] = []
  #any = false

  constructor(settings: HostSettings) {
    this.configure(settings)
  }

  configure({ ownNames, allowedHosts }: HostSettings): void {
    const allowed = allowedHosts.map(plainName)
    this.#names = new Set([...ownNames, ...allowed].map(plainName))
    this.#endings = allowed.flatMap((name) => (name.startsWith('*.') ? [name.slice(1)] : []))
    this.#any = allowed.includes('*')
    this.#good.clear()
  }

  /** A listener was opened at `host`, with that certificate if it has one. */
  add(host: string, certificate: NamedByCertificate | null): void {
    this.#listening.add(plainName(host))
    if (certificate !== null) this.#certificates.push(certificate)
  }

  /** Of a `Host` header, or of the host in a request's target. */
  has(header: string): boolean {
    if (this.#good.has(header)) return true
    if (!this.#any && !this.#isGood(header)) return false
    if (this.#good.size >= hostsRememberedMax) this.#good.clear()
    this.#good.add(header)
    return true
  }

  #isGood(header: string): boolean {
    const name = nameOf(header)
    if (name === null) return false
    return (
      isIP(name) !== 0 ||
      this.#listening.has(name) ||
      this.#names.has(name) ||
      this.#endings.some((ending) => name.endsWith(ending) && name.length > ending.length) ||
      this.#certificates.some((certificate) => certificate.isFor(name))
    )
  }
}

/** Without port, brackets and the dot at the end, in lower case; null: it is no host. */
function nameOf(header: string): string | null {
  if (isIPv6(header)) return header
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([\w.-]+))(?::\d{0,5})?$/.exec(header) ?? []
  if (bracketed !== undefined) return isIPv6(bracketed) ? bracketed : null
  return plain === undefined ? null : plainName(plain)
}

function plainName(name: string): string {
  const lower = name.toLowerCase()
  return lower.endsWith('.') ? lower.slice(0, -1) : lower
}
