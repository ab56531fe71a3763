/** What every request has to pass before its route, whatever the route is. */
import { defaultRegion } from '../lib/default-region.ts'
import { MusterError } from '../lib/errors.ts'
import { HttpRefusal } from './errors.ts'
import { outOfScope } from './out-of-scope.ts'
import type { Exchange } from './request.ts'
import type { ApiRequest } from './route.ts'
import { site } from './site.ts'

/** Proxies send whole URLs: what counts is what follows the host. */
export function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const path = url.replace(/^https?:\/\/[^/?]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

export function refuseControlCharacters(path: string): void {
  if (/%(?:[01][0-9a-f]|7f)/i.test(path)) {
    throw new HttpRefusal(400, 'the path has a control character in it')
  }
}

/** While it waited its client may have gone, or the server begun to stop. */
export function assertWanted({ request, response, aborted }: Exchange): void {
  if (request.socket.destroyed) response.destroy()
  if (response.destroyed || aborted) {
    throw new MusterError('cancelled', 'the client went away, or this server stops')
  }
}

/** In lower case, as Node gives header names. */
const wrapHeader = 'x-vault-wrap-ttl'
const ofVault = /^\/v1\/(?:auth|sys|identity)(?:\/|$)/
const wrapsNothing: readonly unknown[] = [undefined, '', '0', '0s']

/** A client of Vault that asks for an answer wrapped must not get the secret in the clear, nor leave behind what it cannot use. */
export function refuseWrapping(exchange: Exchange): void {
  if (wrapsNothing.includes(exchange.request.headers[wrapHeader])) return
  if (!isOfVault(exchange)) return
  const reason = outOfScope('/v1/sys/wrapping')?.reason ?? ''
  throw new MusterError('not_implemented', `${reason}: leave X-Vault-Wrap-TTL out`)
}

const namespaceHeader = 'x-vault-namespace'
const noNamespace: readonly unknown[] = [undefined, '', '/', 'root', 'root/']

/** What a client of Vault asks of a namespace must not be done in the only one that there is. */
export function refuseVaultNamespace(exchange: Exchange): void {
  if (noNamespace.includes(exchange.request.headers[namespaceHeader])) return
  if (!isOfVault(exchange)) return
  const reason = outOfScope('/v1/sys/namespaces')?.reason ?? ''
  throw new MusterError('not_implemented', `${reason}: leave X-Vault-Namespace out`)
}

/** By the route as well: the path is as it was sent, with its escapes. */
function isOfVault({ route, path }: Exchange): boolean {
  return ofVault.test(route.path) || ofVault.test(path)
}

/** In the query of a request. */
export function refuseOtherRegion(exchange: Exchange, own: string): void {
  if (!exchange.hasSearch) return
  const region = exchange.search.text('region') ?? ''
  if (region !== '' && region !== own) throw noPathToRegion()
}

/** In the body of a request. Clients complete what they send with the default, whatever region their agent is of. */
export function refuseOtherRegionOf(request: ApiRequest, region: string): void {
  if (region === '' || region === defaultRegion) return
  if (region !== request.service(site).region) throw noPathToRegion()
}

/** No server of another region is ever asked from here. The text is the one that Nomad's tools look for. */
function noPathToRegion(): HttpRefusal {
  return new HttpRefusal(500, 'No path to region')
}
