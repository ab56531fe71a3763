/**
 * The servers that a client agent may ask: as gossip knows them, or as an operator named them, until gossip has news. Those that gossip
 * knows come to the named ones with a heartbeat some time later, so that the agent is not left with what an operator once wrote.
 * One is asked for as long as it answers, so that its connections stay open; which one is random, so that many agents
 * spread over all servers.
 */
import type { KnownServers } from '../domains/process/process-info.ts'
import type { GossipNode, MemberView } from '../gossip/gossip.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { randomInteger, type Random } from '../lib/random.ts'
import { serverOf } from '../gossip-pool/tags.ts'
import { hostPort, type HttpAddress } from '../lib/host-port.ts'

export type ServersOptions = {
  readonly gossip: Pick<GossipNode, 'members' | 'onEvent'>
  readonly region: string
  readonly random: Random
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Whatever gossip says: their APIs are asked over TLS. */
  readonly tlsOnly: boolean
  /** Rejects if no server answers there. */
  readonly probe: (place: HttpAddress) => Promise<void>
  /** Those that are servers no more, or are not alive: what was asked of them will not be answered. */
  readonly onGone: (place: HttpAddress) => void
}

/** For so long an operator who named servers has the agent ask no others. */
export const namedAloneMs = 30_000

const addressPattern = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253})):(\d{1,5})$/

export class Servers implements KnownServers {
  readonly #options: ServersOptions
  readonly #unsubscribe: () => void
  /** Where the living servers are, by their names in the pool: kept as events come, a pool may have thousands of other members. */
  readonly #found = new Map<string, HttpAddress>()
  #places: readonly HttpAddress[] = []
  /** When they were named by command; null: they are those that gossip knows. */
  #namedMs: number | null = null

  constructor(options: ServersOptions) {
    this.#options = options
    this.#unsubscribe = options.gossip.onEvent((event) => {
      if ('member' in event && this.#note(event.member)) this.#look()
    })
    for (const member of options.gossip.members()) this.#note(member)
    this.#look()
  }

  stop(): void {
    this.#unsubscribe()
  }

  /** In the order in which they are to be tried. */
  get places(): readonly HttpAddress[] {
    return this.#places
  }

  list(): readonly string[] {
    return this.#places.map(({ host, port }) => hostPort(host, port)).sort()
  }

  /** It did not answer as it should: from now on the others are asked first. */
  demote(place: HttpAddress): void {
    if (!this.#places.includes(place)) return
    this.#places = [...this.#places.filter((other) => other !== place), place]
  }

  async replace(addresses: readonly string[]): Promise<void> {
    const secure = this.#options.tlsOnly || (this.#places[0]?.secure ?? false)
    const places = [...new Set(addresses)].map((address) => placeOf(address, secure))
    const silent: string[] = []
    await Promise.all(
      places.map((place) =>
        this.#options.probe(place).catch((error: unknown) => {
          silent.push(`${hostPort(place.host, place.port)}: ${textOf(error)}`)
        }),
      ),
    )
    if (silent.length > 0) {
      const text = `no server answers there, so the list stays as it was: ${silent.join('; ')}`
      throw new MusterError('invalid_argument', text)
    }
    this.#namedMs = this.#options.clock.monotonicMs()
    this.#take(places)
  }

  /** One of them answered a heartbeat. */
  onHeartbeat(): void {
    const { clock } = this.#options
    if (this.#namedMs === null || clock.monotonicMs() - this.#namedMs < namedAloneMs) return
    const found = [...this.#found.values()]
    const others = found.filter((place) => !this.#places.some((one) => same(one, place)))
    if (others.length > 0) this.#take([...this.#places, ...others])
  }

  /** Whether that member is another server than before, or none. */
  #note(member: MemberView): boolean {
    const { region, tlsOnly } = this.#options
    const isUp = member.status === 'alive' || member.status === 'leaving'
    const http = isUp ? (serverOf(member, region)?.http ?? null) : null
    if (http === null) return this.#found.delete(member.name)
    const place = tlsOnly ? { ...http, secure: true } : http
    const before = this.#found.get(member.name)
    if (before !== undefined && same(before, place)) return false
    this.#found.set(member.name, place)
    return true
  }

  #look(): void {
    const found = [...this.#found.values()]
    if (this.#namedMs !== null && (found.length === 0 || this.#sameAs(found))) return
    this.#namedMs = null
    if (!this.#sameAs(found)) this.#take(found)
  }

  /** Those that stay keep their order; newcomers are put in anywhere. */
  #take(found: readonly HttpAddress[]): void {
    const before = this.#places
    const isFound = (place: HttpAddress) => found.some((other) => same(place, other))
    const places = before.filter(isFound)
    for (const place of found) {
      if (places.some((other) => same(other, place))) continue
      // Never before the one that is in use.
      const first = before.length === 0 ? 0 : Math.min(1, places.length)
      places.splice(randomInteger(this.#options.random, first, places.length + 1), 0, place)
    }
    this.#places = places
    for (const place of before) if (!isFound(place)) this.#options.onGone(place)
  }

  #sameAs(found: readonly HttpAddress[]): boolean {
    const all = this.#places
    return (
      found.length === all.length && found.every((place) => all.some((one) => same(one, place)))
    )
  }
}

function same(left: HttpAddress, right: HttpAddress): boolean {
  return left.secure === right.secure && left.host === right.host && left.port === right.port
}

function placeOf(address: string, secure: boolean): HttpAddress {
  const match = addressPattern.exec(address)
  const port = Number(match?.[3] ?? 0)
  const host = match?.[1] ?? match?.[2]
  if (host === undefined || port < 1 || port > 65_535) {
    const shown = JSON.stringify(address.slice(0, 100))
    throw new MusterError('invalid_argument', `address must be host:port, not ${shown}`)
  }
  return { secure, host, port }
}
