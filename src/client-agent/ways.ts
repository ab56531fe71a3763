/** The ways of a client agent to the servers: whom it trusts, who they are by gossip, and its connections to them. */
import type { GossipNode } from '../gossip/gossip.ts'
import type { HttpAddress } from '../lib/host-port.ts'
import type { RuntimeDependencies } from '../runtime/process.ts'
import { probe } from './json-request.ts'
import type { ServerTrust } from './server-trust.ts'
import { Servers } from './servers.ts'
import { UntrustedLog } from './untrusted-log.ts'
import { Upstream } from './upstream.ts'

export type Ways = { readonly servers: Servers; readonly upstream: Upstream }

/** `opened` owns them. */
export function openWays(
  {
    region,
    trust,
    gossip,
    onGone,
  }: {
    readonly region: string
    readonly trust: ServerTrust
    readonly gossip: GossipNode
    /** A server is gone. */
    readonly onGone: (place: HttpAddress) => void
  },
  { clock, random, logger }: RuntimeDependencies,
  opened: AsyncDisposableStack,
): Ways {
  const untrusted = new UntrustedLog(clock, logger.named('servers'))
  const upstream: Upstream = new Upstream({
    places: () => servers.places,
    onFailed: (place, error) => {
      servers.demote(place)
      untrusted.add(place, error)
    },
    trust,
    clock,
  })
  opened.defer(() => upstream.stop())
  const servers = new Servers({
    gossip,
    region,
    random,
    clock,
    tlsOnly: trust.tlsOnly,
    probe: (place) => probe(upstream, place),
    onGone: (place) => {
      upstream.drop(place)
      onGone(place)
    },
  })
  opened.defer(() => servers.stop())
  return { servers, upstream }
}
