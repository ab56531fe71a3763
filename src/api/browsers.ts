/**
 * What a browser may ask for on behalf of a page. A browser sends what any page tells it to, also to addresses that only its
 * own machine reaches, and says who told it: in `Host`, `Origin` and `Sec-Fetch-Site`, none of which a page can change. A
 * request that a page of another site caused is refused before it is routed, reads and WebSockets included; programs other
 * than browsers send neither `Origin` nor `Sec-Fetch-Site`.
 */
import type { IncomingMessage } from 'node:http'
import { HttpRefusal } from './errors.ts'
import { Hosts, type HostSettings, type NamedByCertificate } from './hosts.ts'

export type BrowserSettings = HostSettings & {
  /** Origins, in the form that browsers send, whose pages may use the API and read its answers. */
  readonly corsOrigins: readonly string[]
}

/** The agent's own pages alone, by address or as `localhost`. */
export const noBrowserSettings: BrowserSettings = {
  ownNames: [],
  allowedHosts: [],
  corsOrigins: [],
}

export type Admission = {
  /** Names and values in turn, for every answer to this request. */
  readonly headers: readonly string[]
  /** The request asks what the browser may send: these headers are the whole answer. */
  readonly isPreflight: boolean
}

/** Of one listener, or of all listeners of an agent: the same whatever the configuration says. */
export type BrowserFacts = {
  /** Names of headers that allowed pages may read in answers. */
  readonly exposed: readonly string[]
  /** A GET of these tells nothing but what any page may know. */
  readonly publicPaths: readonly string[]
}

/** What a request wants. */
export type Wanted = {
  /** Without the query string. */
  readonly path: string
  readonly route: { readonly changesByGet?: boolean }
}

/** How long a browser may remember the answer to a preflight. */
const preflightSeconds = 600
const servedMethods = 'GET, HEAD, PUT, POST, DELETE, LIST'
/** Header names in a list; as long as this they are answered as they were asked for. */
const headerNames = /^[\w!#$%&'*+.^`|~, -]{1,1024}$/
const shownLengthMax = 100
/** Every browser's name begins so, and a page cannot have an image asked for under another. */
const browserName = 'Mozilla/'

export class Browsers {
  readonly #hosts: Hosts
  readonly #exposed: string
  readonly #publicPaths: ReadonlySet<string>
  #origins: ReadonlySet<string> = new Set()
  /** Of requests that no browser's rule is for. */
  #plain: Admission | null = null

  constructor(settings: BrowserSettings, { exposed, publicPaths }: BrowserFacts) {
    this.#hosts = new Hosts(settings)
    this.#publicPaths = new Set(publicPaths)
    this.#exposed = exposed.join(', ')
    this.configure(settings)
  }

  configure(settings: BrowserSettings): void {
    this.#hosts.configure(settings)
    this.#origins = new Set(settings.corsOrigins)
    // A cache between must not give an answer that names one origin to another one.
    const varies = { headers: ['Vary', 'Origin'], isPreflight: false }
    this.#plain = settings.corsOrigins.length > 0 ? varies : null
  }

  listen(host: string, certificate: NamedByCertificate | null): void {
    this.#hosts.add(host, certificate)
  }

  /** Throws 400 and 403. Null: nothing is to be added to the answer. `target` is the request's as it came. */
  admit(request: IncomingMessage, target: string, { path, route }: Wanted): Admission | null {
    const { headers } = request
    this.#checkHost(request, target)
    const { origin } = headers
    const site = headers['sec-fetch-site']
    if (route.changesByGet === true) this.#refuseNavigation(request)
    if (origin === undefined && site === undefined) return this.#plain
    if (origin !== undefined && this.#origins.has(origin)) return this.#grant(request, origin)
    if (isOwn(request, origin, site)) return this.#plain
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead && this.#publicPaths.has(path) && headers.upgrade === undefined) return this.#plain
    const page = origin === undefined ? 'a page of another site' : `a page of ${shown(origin)}`
    throw new HttpRefusal(
      403,
      `${page} caused this request: only origins in http.cors.allowed_origins may do that`,
    )
  }

  /**
   * Where only address and method of a request are an attacker's, browsers say little of it: nothing at all to a plain
   * listener that is not on loopback, and `none` of an address that a person typed and a server then redirected.
   */
  #refuseNavigation({ headers }: IncomingMessage): void {
    const site = headers['sec-fetch-site']
    const isBrowser = site !== undefined || headers['user-agent']?.startsWith(browserName) === true
    if (!isBrowser || site === 'same-origin' || this.#origins.has(headers.origin ?? '')) return
    throw new HttpRefusal(403, 'this path changes something: a browser has to ask for it by PUT')
  }

  #checkHost(request: IncomingMessage, target: string): void {
    const { host } = request.headers
    // No browser leaves it out; programs that speak HTTP/1.0 may.
    if (host === undefined && request.httpVersion === '1.1') {
      throw new HttpRefusal(400, 'a request of HTTP/1.1 must have a Host header')
    }
    if (host !== undefined && host !== '' && !this.#hosts.has(host)) throw foreignHost(host)
    if (!target.startsWith('/')) {
      const named = /^https?:\/\/([^/?#]*)/i.exec(target)?.[1]
      if (named !== undefined && !this.#hosts.has(named)) throw foreignHost(named)
    }
    if (hostCount(request.rawHeaders) > 1) {
      throw new HttpRefusal(400, 'the request has more than one Host header')
    }
  }

  #grant({ method, headers }: IncomingMessage, origin: string): Admission {
    const lines = ['Vary', 'Origin', 'Access-Control-Allow-Origin', origin]
    const isPreflight =
      method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
    if (!isPreflight) {
      lines.push('Access-Control-Expose-Headers', this.#exposed)
      return { headers: lines, isPreflight }
    }
    const wanted = headers['access-control-request-headers']
    lines.push('Access-Control-Allow-Methods', servedMethods)
    if (wanted !== undefined && headerNames.test(wanted)) {
      lines.push('Access-Control-Allow-Headers', wanted)
    }
    // Some browsers ask once more before a page of the Internet reaches a private address.
    if (headers['access-control-request-private-network'] === 'true') {
      lines.push('Access-Control-Allow-Private-Network', 'true')
    }
    lines.push('Access-Control-Max-Age', String(preflightSeconds))
    return { headers: lines, isPreflight }
  }
}

/** A page of this very listener, or an address that a person typed. */
function isOwn(
  { socket, headers }: IncomingMessage,
  origin: string | undefined,
  site: string | string[] | undefined,
): boolean {
  // The browser's own judgement, also behind a proxy that speaks TLS for this listener.
  if (site === 'same-origin') return true
  if (origin === undefined) return site === 'none'
  const scheme = 'encrypted' in socket ? 'https' : 'http'
  return origin === `${scheme}://${headers.host?.toLowerCase() ?? ''}`
}

/** Node takes the first of several and says nothing. */
function hostCount(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}

function foreignHost(host: string): HttpRefusal {
  return new HttpRefusal(
    403,
    `this listener does not answer for the host ${shown(host)}: http.allowed_hosts may name it`,
  )
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, shownLengthMax))
}
