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

/** How long a browser may remember the answer to a preflight. */
const preflightSeconds = 600
const servedMethods = 'GET, HEAD, PUT, POST, DELETE'
/** Header names in a list; as long as this they are answered as they were asked for. */
const headerNames = /^[\w!#$%&'*+.^`|~, -]{1,1024}$/
const shownLengthMax = 100

export class Browsers {
  readonly #hosts: Hosts
  readonly #exposed: string
  #origins: ReadonlySet<string> = new Set()
  /** Of requests that no browser's rule is for. */
  #plain: Admission | null = null

  /** `exposed`: names of headers that allowed pages may read in answers. */
  constructor(settings: BrowserSettings, exposed: readonly string[]) {
    this.#hosts = new Hosts(settings)
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

  /**
   * Throws 400 and 403. Null: nothing is to be added to the answer. `target` is the request's as it came, `isPublic`
   * whether a GET of it tells nothing but what any page may know.
   */
  admit(request: IncomingMessage, target: string, isPublic: boolean): Admission | null {
    const { headers } = request
    this.#checkHost(request, target)
    const { origin } = headers
    const site = headers['sec-fetch-site']
    if (origin === undefined && site === undefined) return this.#plain
    if (origin !== undefined && this.#origins.has(origin)) return this.#grant(request, origin)
    if (isOwn(request, origin, site)) return this.#plain
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isPublic && isRead && headers.upgrade === undefined) return this.#plain
    const page = origin === undefined ? 'a page of another site' : `a page of ${shown(origin)}`
    throw new HttpRefusal(
      403,
      `${page} caused this request: only origins in http.cors.allowed_origins may do that`,
    )
  }

  #checkHost(request: IncomingMessage, target: string): void {
    const { host } = request.headers
    // No browser leaves it out; programs that speak HTTP/1.0 may.
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
