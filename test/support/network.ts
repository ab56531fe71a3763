/**
 * The network between servers: a proxy for every directed pair, driven through Toxiproxy's API. Proxy `a to b`
 * carries the connections that a dials to b, and bytes flow through it in both directions; what is said here
 * of the way from a to b concerns every byte from a to b, whoever dialled.
 */
import { Toxiproxy, type ICreateToxicBody, type Proxy } from 'toxiproxy-node-client'
import { seededRandom } from '../../src/lib/random.ts'
import { startToxiproxy } from './toxiproxy/server.ts'

type ToxicType = ICreateToxicBody<unknown>['type']

let networks = 0

export class Network {
  readonly #stop: () => Promise<void>
  readonly #proxies: ReadonlyMap<string, Proxy>
  readonly #size: number
  /** Toxics in place, so that healing touches nothing of others on a shared server. */
  readonly #toxics = new Map<string, () => Promise<void>>()
  readonly #disabled = new Set<Proxy>()

  private constructor(proxies: Map<string, Proxy>, size: number, stop: () => Promise<void>) {
    this.#proxies = proxies
    this.#size = size
    this.#stop = stop
  }

  /** One proxy for each pair of the servers' addresses. TOXIPROXY_URL names a server to use instead of our own. */
  static async start(addresses: readonly string[], seed: number): Promise<Network> {
    const url = process.env['TOXIPROXY_URL']
    const own = url === undefined ? await startToxiproxy(seededRandom(seed)) : null
    const api = new Toxiproxy(url ?? own?.url ?? '')
    networks += 1
    const proxies = new Map<string, Proxy>()
    for (const from of addresses.keys()) {
      for (const [to, upstream] of addresses.entries()) {
        if (from === to) continue
        const name = `muster-${process.pid}-${networks}-${from}-${to}`
        proxies.set(
          pair(from, to),
          await api.createProxy({ name, listen: '127.0.0.1:0', upstream }),
        )
      }
    }
    return new Network(proxies, addresses.length, async () => {
      for (const proxy of proxies.values()) await proxy.remove()
      await own?.stop()
    })
  }

  /** Where server `from` dials server `to`. */
  addressFor(from: number, to: number): string {
    return this.#proxy(from, to).listen
  }

  /** Bytes from `from` to `to` vanish, and nobody is told. */
  async cut(from: number, to: number): Promise<void> {
    await this.#addToxic('timeout', from, to, { timeout: 0 })
  }

  /** Servers of different groups do not hear each other; one in no group hears nobody. */
  async partition(groups: readonly (readonly number[])[]): Promise<void> {
    const groupOf = (server: number): number => {
      const group = groups.findIndex((members) => members.includes(server))
      return group < 0 ? -1 - server : group
    }
    await this.#eachWay(async (from, to) => {
      if (groupOf(from) !== groupOf(to)) await this.cut(from, to)
    })
  }

  async isolate(server: number): Promise<void> {
    const others = Array.from({ length: this.#size }, (_, other) => other)
    await this.partition([[server], others.filter((other) => other !== server)])
  }

  /** `server` is not heard by anyone, but hears. */
  async mute(server: number): Promise<void> {
    await this.#eachWay(async (from, to) => {
      if (from === server) await this.cut(from, to)
    })
  }

  /** `server` hears nobody, but is heard. */
  async deafen(server: number): Promise<void> {
    await this.#eachWay(async (from, to) => {
      if (to === server) await this.cut(from, to)
    })
  }

  /** Each server hears and is heard by its two neighbours only; with three, each hears only the one before it. */
  async ring(): Promise<void> {
    await this.#eachWay(async (from, to) => {
      const forward = (to - from + this.#size) % this.#size
      const near = this.#size === 3 ? forward === 1 : forward === 1 || forward === this.#size - 1
      if (!near) await this.cut(from, to)
    })
  }

  async slow(from: number, to: number, latencyMs: number, jitterMs: number): Promise<void> {
    await this.#addToxic('latency', from, to, { latency: latencyMs, jitter: jitterMs })
  }

  async slowAll(latencyMs: number, jitterMs: number): Promise<void> {
    await this.#eachWay((from, to) => this.slow(from, to, latencyMs, jitterMs))
  }

  async throttle(from: number, to: number, kilobytesPerSecond: number): Promise<void> {
    await this.#addToxic('bandwidth', from, to, { rate: kilobytesPerSecond })
  }

  /** Every byte from `from` to `to` makes its connection break with a reset. */
  async reset(from: number, to: number, afterMs: number): Promise<void> {
    await this.#addToxic('reset_peer', from, to, { timeout: afterMs })
  }

  /** Connections between the two break, and new ones are refused. */
  async refuse(one: number, other: number): Promise<void> {
    for (const proxy of [this.#proxy(one, other), this.#proxy(other, one)]) {
      this.#disabled.add(proxy)
      await proxy.update({ enabled: false, listen: proxy.listen, upstream: proxy.upstream })
    }
  }

  /** Everything flows again. Connections that lost bytes close, so that their ends start anew. */
  async heal(): Promise<void> {
    for (const [name, remove] of this.#toxics) {
      await remove()
      this.#toxics.delete(name)
    }
    for (const proxy of this.#disabled) {
      await proxy.update({ enabled: true, listen: proxy.listen, upstream: proxy.upstream })
      this.#disabled.delete(proxy)
    }
  }

  async stop(): Promise<void> {
    await this.#stop()
  }

  async #eachWay(act: (from: number, to: number) => Promise<void>): Promise<void> {
    for (let from = 0; from < this.#size; from += 1) {
      for (let to = 0; to < this.#size; to += 1) if (from !== to) await act(from, to)
    }
  }

  /** On connections that `from` dialled and on those that `to` dialled. A second toxic of a type changes nothing. */
  async #addToxic(
    type: ToxicType,
    from: number,
    to: number,
    attributes: Readonly<Record<string, number>>,
  ): Promise<void> {
    for (const [proxy, stream] of [
      [this.#proxy(from, to), 'upstream'],
      [this.#proxy(to, from), 'downstream'],
    ] as const) {
      const name = `${type}-${stream}`
      const key = `${proxy.name}/${name}`
      if (this.#toxics.has(key)) continue
      const toxic = await proxy.addToxic({ name, type, stream, toxicity: 1, attributes })
      this.#toxics.set(key, () => toxic.remove())
    }
  }

  #proxy(from: number, to: number): Proxy {
    const proxy = this.#proxies.get(pair(from, to))
    if (proxy === undefined) throw new RangeError(`no way from server ${from} to ${to}`)
    return proxy
  }
}

function pair(from: number, to: number): string {
  return `${from} to ${to}`
}
