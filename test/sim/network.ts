/**
 * The network between servers: one link for each direction, with latency, loss, duplication, reordering and cuts.
 *
 * It is harsher than streams are: what was sent to an earlier run of a process may reach the next one, and what
 * was sent during a cut may arrive after it. The protocol must bear both.
 */
import { MusterError } from '../../src/lib/errors.ts'
import type { Random } from '../../src/lib/random.ts'
import type { Message, ServerId } from '../../src/raft/core/message.ts'
import { between, happens } from './randomness.ts'
import type { Life, Scheduler } from './scheduler.ts'
import { describeMessage, type Trace } from './trace.ts'

export type Weather = {
  readonly latencyMs: number
  readonly jitterMs: number
  readonly lossRate: number
  readonly duplicateRate: number
  /** Share of messages that later ones overtake. */
  readonly reorderRate: number
  readonly reorderMs: number
  /** Share of messages that wait out a cut instead of getting lost. */
  readonly holdRate: number
}

/** What the network needs of whoever is at the end of a link. */
export type Endpoint = {
  readonly life: Life
  readonly deliver: (message: Message) => void
  readonly peerGone: (id: ServerId) => void
  readonly peerConnected: (id: ServerId) => void
}

type Link = {
  cut: boolean
  /** Nothing overtakes what arrives then, unless it is reordered. */
  lastArrivalMs: number
  held: Message[]
}

/** Messages that wait out one cut. */
const heldMax = 20

export class Network {
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #trace: Trace
  readonly #links = new Map<string, Link>()
  readonly #endpoints = new Map<ServerId, Endpoint>()
  weather: Weather
  /** Sees every message as it is sent, before anything can happen to it. */
  onSend: (message: Message) => void = () => undefined
  sentCount = 0

  constructor(scheduler: Scheduler, random: Random, trace: Trace, weather: Weather) {
    this.#scheduler = scheduler
    this.#random = random
    this.#trace = trace
    this.weather = weather
  }

  // --- ends ---

  /** The process is there: it connects to the others, and they connect to it. */
  attach(id: ServerId, endpoint: Endpoint): void {
    this.#endpoints.set(id, endpoint)
    const connect = ({ life, peerConnected }: Endpoint, to: ServerId): void => {
      this.#scheduler.after(this.#delay(), () => {
        this.#scheduler.enter(life, () => peerConnected(to))
      })
    }
    for (const [other, there] of this.#endpoints) {
      if (other === id || this.isCut(id, other) || this.isCut(other, id)) continue
      connect(there, id)
      connect(endpoint, other)
    }
  }

  /** The process is gone; the others are told, mostly, as their connections break. */
  detach(id: ServerId): void {
    this.#endpoints.delete(id)
    for (const [other, { life, peerGone }] of this.#endpoints) {
      if (this.isCut(id, other) || this.isCut(other, id)) continue
      if (happens(this.#random, 0.3)) continue
      this.#scheduler.after(this.#delay() * 2, () => {
        this.#scheduler.enter(life, () => peerGone(id))
      })
    }
  }

  endpoint(id: ServerId): Endpoint | undefined {
    return this.#endpoints.get(id)
  }

  // --- messages ---

  send(message: Message): void {
    this.sentCount += 1
    this.onSend(message)
    const { lossRate, duplicateRate, holdRate } = this.weather
    const link = this.#link(message.from, message.to)
    if (link.cut) {
      if (link.held.length < heldMax && happens(this.#random, holdRate)) link.held.push(message)
      this.#trace.add(() => `${describeMessage(message)} (cut)`)
      return
    }
    if (happens(this.#random, lossRate)) {
      this.#trace.add(() => `${describeMessage(message)} (lost)`)
      return
    }
    this.#trace.add(() => describeMessage(message))
    this.#carry(link, message)
    if (happens(this.#random, duplicateRate)) this.#carry(link, message)
  }

  #carry(link: Link, message: Message): void {
    const { reorderRate, reorderMs } = this.weather
    let arrivalMs = this.#scheduler.nowMs + this.#delay()
    if (happens(this.#random, reorderRate)) {
      arrivalMs += between(this.#random, 0, reorderMs)
    } else {
      arrivalMs = Math.max(arrivalMs, link.lastArrivalMs)
      link.lastArrivalMs = arrivalMs
    }
    this.#scheduler.after(arrivalMs - this.#scheduler.nowMs, () => this.#arrive(link, message))
  }

  #arrive(link: Link, message: Message): void {
    if (link.cut) return
    const endpoint = this.#endpoints.get(message.to)
    if (endpoint === undefined) return
    this.#scheduler.enter(endpoint.life, () => endpoint.deliver(message))
  }

  // --- cuts ---

  cut(from: ServerId, to: ServerId): void {
    this.#link(from, to).cut = true
  }

  heal(from: ServerId, to: ServerId): void {
    const link = this.#link(from, to)
    if (!link.cut) return
    link.cut = false
    for (const message of link.held.splice(0)) this.#carry(link, message)
  }

  healAll(): void {
    for (const [name, link] of this.#links) {
      if (!link.cut) continue
      const [from = '', to = ''] = name.split('>')
      this.heal(from, to)
    }
  }

  isCut(from: ServerId, to: ServerId): boolean {
    return this.#links.get(`${from}>${to}`)?.cut === true
  }

  // --- conversations, for what streams carry besides messages ---

  /**
   * One question and its answer. Rejects with `unavailable` when either way is cut or the other end is not there,
   * with the other end's error when it refuses.
   */
  async ask<T>(
    from: { readonly id: ServerId; readonly life: Life },
    to: ServerId,
    question: (endpoint: Endpoint) => Promise<T>,
  ): Promise<T> {
    await this.#travel(from.id, to, from.life)
    const endpoint = this.#endpoints.get(to)
    if (endpoint === undefined) throw interrupted()
    const answer = await new Promise<{ readonly result: Promise<T> }>((resolve, reject) => {
      let answered = false
      // The other end may crash before it answers; then the connection breaks.
      const watch = () => {
        if (answered) return
        if (endpoint.life.alive) this.#scheduler.after(20, watch, from.life)
        else reject(interrupted())
      }
      watch()
      this.#scheduler.enter(endpoint.life, () => {
        const result = question(endpoint)
        const settle = () => {
          answered = true
          resolve({ result })
        }
        result.then(settle, settle)
      })
    })
    await this.#travel(to, from.id, from.life)
    return answer.result
  }

  async #travel(from: ServerId, to: ServerId, owner: Life): Promise<void> {
    await this.#scheduler.sleep(this.#delay(), owner)
    if (!this.isCut(from, to)) return
    await this.#scheduler.sleep(50, owner)
    throw interrupted()
  }

  #delay(): number {
    const { latencyMs, jitterMs } = this.weather
    return latencyMs + between(this.#random, 0, jitterMs)
  }

  #link(from: ServerId, to: ServerId): Link {
    const name = `${from}>${to}`
    let link = this.#links.get(name)
    if (link === undefined) {
      link = { cut: false, lastArrivalMs: 0, held: [] }
      this.#links.set(name, link)
    }
    return link
  }
}

/** The other end was not reached: not what it said. */
export class Interrupted extends MusterError {}

export function interrupted(): Interrupted {
  return new Interrupted('unavailable', 'the connection broke')
}
