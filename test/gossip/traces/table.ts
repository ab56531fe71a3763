/**
 * Members of a pool on a table, as a script moves them: each input is followed by all that it causes, and every packet,
 * exchange and event is told in order. Packets arrive at once, first in, first out; time passes from one deadline to
 * the next. Random numbers come from a seed of each member's own, so a script has one conversation.
 */
import { GossipCore } from '../../../src/gossip/core/core.ts'
import { lanProfile } from '../../../src/gossip/core/profile.ts'
import type { Endpoint } from '../../../src/gossip/core/message.ts'
import type { Exchange, Packet, StreamPing } from '../../../src/gossip/core/ready.ts'
import { seededRandom } from '../../../src/lib/random.ts'
import { simCodec } from '../sim/codec.ts'
import { endpointOf } from '../sim/world.ts'
import { eventText, messageText, stateText } from './words.ts'

/** A conversation that does not end is a defect. */
const packetsMax = 5_000

type Seat = { readonly core: GossipCore; readonly endpoint: Endpoint; up: boolean }
type Sent = { readonly from: string; readonly packet: Packet }

export class Table {
  readonly #seats = new Map<string, Seat>()
  readonly #told: string[] = []
  /** Ways on which packets are lost, and those on which streams do not open either. */
  readonly #lossy = new Set<string>()
  readonly #cut = new Set<string>()
  readonly #mail: Sent[] = []
  #later: { readonly at: number; readonly run: () => void }[] = []
  #now = 0
  #quiet = false

  constructor(names: readonly string[]) {
    for (const [at, name] of names.entries()) {
      const endpoint = endpointOf(at + 1)
      const options = { name, endpoint, tags: new Map(), profile: lanProfile, codec: simCodec }
      const core = new GossipCore({ ...options, random: seededRandom(at + 1) }, 0)
      this.#seats.set(name, { core, endpoint, up: true })
      core.ready()
    }
  }

  /** What was told since the last call. */
  takeTold(): string[] {
    return this.#told.splice(0)
  }

  // --- commands ---

  join(name: string, through: string): void {
    const { endpoint } = this.#seat(through)
    this.#input(name, (core) => core.join(endpoint, false, this.#now))
  }

  leave(name: string): void {
    this.#input(name, (core) => core.leave(this.#now))
  }

  forceLeave(name: string, gone: string): void {
    this.#input(name, (core) => core.forceLeave(gone, false, this.#now))
  }

  kill(name: string): void {
    this.#seat(name).up = false
  }

  lose(from: string, to: string): void {
    this.#lossy.add(`${from}>${to}`)
  }

  cut(from: string, to: string): void {
    this.lose(from, to)
    this.#cut.add(`${from}>${to}`)
  }

  heal(): void {
    this.#lossy.clear()
    this.#cut.clear()
  }

  /** `quiet`: what is said is not told, what is seen is. */
  pass(ms: number, quiet: boolean): void {
    this.#quiet = quiet
    const end = this.#now + ms
    for (;;) {
      const living = [...this.#seats].filter(([, { up }]) => up)
      const deadlines = living.map(([, { core }]) => core.nextDeadline)
      const next = Math.max(Math.min(...deadlines, ...this.#later.map(({ at }) => at)), this.#now)
      if (next > end) break
      this.#now = next
      const due = this.#later.filter(({ at }) => at <= next)
      this.#later = this.#later.filter(({ at }) => at > next)
      for (const { run } of due) run()
      for (const [name, { core }] of living) {
        if (core.nextDeadline <= next) this.#input(name, () => core.tick(next))
      }
    }
    this.#now = end
    this.#quiet = false
  }

  status(names: readonly string[]): void {
    for (const name of names.length === 0 ? this.#seats.keys() : names) {
      const { core, up } = this.#seat(name)
      const members = core
        .members()
        .map((member) => `${member.name}@${member.incarnation} ${member.status}`)
        .toSorted()
      this.#tell(name, up ? members.join(', ') : 'is not there')
    }
  }

  // --- how it goes on ---

  #seat(name: string): Seat {
    const seat = this.#seats.get(name)
    if (seat === undefined) throw new Error(`there is no member ${name}`)
    return seat
  }

  #at(endpoint: Endpoint): readonly [string, Seat] {
    const found = [...this.#seats].find(([, seat]) => seat.endpoint.port === endpoint.port)
    if (found === undefined) throw new Error(`nobody is at port ${endpoint.port}`)
    return found
  }

  #tell(who: string, what: string): void {
    this.#told.push(`${who.padEnd(6)} ${what}`)
  }

  #say(way: string, what: string): void {
    if (!this.#quiet) this.#tell(way, what)
  }

  #input(name: string, give: (core: GossipCore) => unknown): void {
    this.#give(name, give)
    for (let count = 0; count < packetsMax; count += 1) {
      const sent = this.#mail.shift()
      if (sent === undefined) return
      this.#deliver(sent)
    }
    throw new Error('the members talk for ever')
  }

  #give(name: string, give: (core: GossipCore) => unknown): void {
    const { core } = this.#seat(name)
    give(core)
    while (core.hasReady()) {
      const { packets, exchanges, streamPings, events } = core.ready()
      for (const event of events) {
        const text = eventText(event)
        if (text !== null) this.#tell(name, text)
      }
      this.#mail.push(...packets.map((packet) => ({ from: name, packet })))
      for (const exchange of exchanges) this.#exchange(name, exchange)
      for (const ping of streamPings) this.#streamPing(name, ping)
    }
  }

  #deliver({ from, packet }: Sent): void {
    const [to, seat] = this.#at(packet.to)
    const isLost = this.#lossy.has(`${from}>${to}`) || !seat.up
    const text = packet.messages.map(messageText).join('; ')
    this.#say(`${from} → ${to}`, `${text}${isLost ? ': lost' : ''}`)
    if (isLost) return
    const { endpoint } = this.#seat(from)
    this.#give(to, (core) => {
      for (const message of packet.messages) core.message(message, endpoint, this.#now)
    })
  }

  /** A stream there and its answer back, unless nobody listens or no byte arrives. */
  #exchange(from: string, { id, to: endpoint, message, timeoutMs }: Exchange): void {
    const [to, seat] = this.#at(endpoint)
    const way = `${from} ⇒ ${to}`
    const end = (outcome: Parameters<GossipCore['exchanged']>[1]) =>
      this.#input(from, (core) => core.exchanged(id, outcome, this.#now))
    this.#say(way, `state: ${stateText(message)}`)
    if (this.#cut.has(`${from}>${to}`)) {
      this.#later.push({ at: this.#now + timeoutMs, run: () => end('timed out') })
    } else if (!seat.up) end('connection refused')
    else {
      const sender = this.#seat(from).endpoint
      this.#give(to, (core) => {
        const { reply } = core.exchangeReceived(message, sender, this.#now)
        this.#say(`${to} ⇒ ${from}`, `state: ${stateText(reply)}`)
        this.#later.push({ at: this.#now, run: () => end(reply) })
      })
    }
  }

  #streamPing(from: string, { id, to: endpoint }: StreamPing): void {
    const [to, seat] = this.#at(endpoint)
    const isCut = this.#cut.has(`${from}>${to}`)
    const type = seat.up ? 'answered' : 'refused'
    this.#say(`${from} ⇒ ${to}`, `ping: ${isCut ? 'no answer' : type}`)
    if (isCut) return
    this.#give(from, (core) => core.streamAnswered(id, { type }, this.#now))
  }
}
