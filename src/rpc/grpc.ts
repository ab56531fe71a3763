/**
 * Calls between servers on gRPC: `GrpcPeerLink` keeps one link per target, `CallService` serves the links of others.
 */
import { MusterError } from '../lib/errors.ts'
import { dial } from '../wire/dial.ts'
import type { WireService } from '../wire/server.ts'
import type { WireStream } from '../wire/stream.ts'
import type { Wire } from '../wire/wire.ts'
import { endable } from './stream-lifetime.ts'
import { callsPath, LinkClient, type LinkOptions } from './link-client.ts'
import { LinkServerStream } from './link-server.ts'
import { LinkLoad, loadLimits, type LoadLimits } from './link-load.ts'
import { openLinkStream } from './link-stream-client.ts'
import type { CallHandler, CallRequest, CallTarget, PeerLink, StreamLink } from './link.ts'

/** Targets that are linked at once; a cluster has a handful of servers. */
const linksMax = 256
/** Streams that are read from other servers at once; each has a connection. */
const streamsMax = 1_024

export type GrpcPeerLinkOptions = { readonly wire: Wire } & Partial<LinkOptions>

export class GrpcPeerLink implements PeerLink, StreamLink {
  readonly #wire: Wire
  readonly #options: LinkOptions
  readonly #links = new Map<string, LinkClient>()
  readonly #streams = new Set<AbortController>()
  #stopped = false

  constructor(options: GrpcPeerLinkOptions) {
    this.#wire = options.wire
    this.#options = {
      callsMax: options.callsMax ?? 4_096,
      callBytesMax: options.callBytesMax ?? 64 * 1024 * 1024,
      idleMs: options.idleMs ?? 60_000,
    }
  }

  call(target: CallTarget, request: CallRequest, signal?: AbortSignal): Promise<unknown> {
    if (this.#stopped) {
      return Promise.reject(new MusterError('unavailable', 'this server stops'))
    }
    const link = this.#linkTo(target)
    if (link === null) {
      const text = `this server is linked to ${linksMax} others, which is the most it can be`
      return Promise.reject(new MusterError('overloaded', text))
    }
    return link.call(request, signal)
  }

  /**
   * The links to these servers, and to no others, stay open while they are idle; those that are not connected are dialed
   * once. So the first calls after an election do not wait for a connection.
   */
  keepOpen(targets: readonly CallTarget[]): void {
    if (this.#stopped) return
    const kept = new Set(targets.map(keyOf))
    for (const [key, link] of this.#links) if (!kept.has(key)) link.keepOpen(false)
    for (const target of targets) this.#linkTo(target)?.keepOpen(true)
  }

  #linkTo(target: CallTarget): LinkClient | null {
    const key = keyOf(target)
    const known = this.#links.get(key)
    if (known !== undefined) return known
    if (this.#links.size >= linksMax) return null
    const { clock, refusals } = this.#wire
    const { address, id } = target
    const dialled = { address, path: callsPath, to: id ?? '' }
    const carrier = {
      clock,
      refusals,
      dial: (signal: AbortSignal) => dial(this.#wire, dialled, signal),
    }
    const link = new LinkClient(carrier, target, this.#options, () => this.#links.delete(key))
    this.#links.set(key, link)
    return link
  }

  async stream(
    target: CallTarget,
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterableIterator<unknown>> {
    if (this.#stopped) throw new MusterError('unavailable', 'this server stops')
    if (this.#streams.size >= streamsMax) {
      const text = `this server reads ${streamsMax} streams of others, which is the most it can`
      throw new MusterError('overloaded', text)
    }
    const stop = new AbortController()
    this.#streams.add(stop)
    return endable({
      open: (both) => openLinkStream(this.#wire, target, request, both),
      signal,
      stop,
      onEnd: () => this.#streams.delete(stop),
    })
  }

  /**
   * Server `id` leads now; null: none in a new term. Calls that were for the leader and went to another server are settled
   * soon, which does not wait for that server: it may be one that stands still.
   */
  leaderIs(id: string | null): void {
    for (const link of this.#links.values()) if (link.target.id !== id) link.settleLeaderCalls()
  }

  /** Calls under way are rejected, streams end. */
  stop(): Promise<void> {
    this.#stopped = true
    for (const stream of this.#streams) stream.abort()
    for (const link of this.#links.values()) link.close('this server stops')
    this.#links.clear()
    return Promise.resolve()
  }
}

/** A target whose id is not known may be answered by any server, so it shares no link with one whose id is. */
function keyOf({ id, address }: CallTarget): string {
  return `${id ?? ''} ${address}`
}

export class CallService implements WireService {
  readonly path = callsPath
  readonly load: LinkLoad
  readonly #wire: Wire
  readonly #handler: CallHandler
  readonly #streams = new Set<LinkServerStream>()

  constructor(options: {
    readonly wire: Wire
    readonly handler: CallHandler
    readonly limits?: Partial<LoadLimits>
  }) {
    this.#wire = options.wire
    this.#handler = options.handler
    this.load = new LinkLoad({ ...loadLimits, ...options.limits })
  }

  accept(stream: WireStream): void {
    let served: LinkServerStream | null = null
    served = new LinkServerStream(this.#wire, stream, {
      handler: this.#handler,
      load: this.load,
      onClose: () => {
        if (served !== null) this.#streams.delete(served)
      },
    })
    if (stream.open) this.#streams.add(served)
  }

  /** Ends every link; the signals of running calls fire. */
  stop(): Promise<void> {
    for (const stream of this.#streams) stream.close('this server stops')
    return Promise.resolve()
  }
}
