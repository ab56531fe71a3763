/**
 * The loop around the core: packets, streams, the timer and commands go in, and each time what comes out is performed
 * before the next goes in. It owns the transport and the one timer.
 *
 * A thing thrown by the core that is not a refusal is a defect: the loop stops and says so, once.
 */
import { assertNever } from '../lib/assert.ts'
import { timerMsMax, type Clock, type Timer } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { GossipCore } from './core/core.ts'
import type { Endpoint, PushPull } from './core/message.ts'
import type { Exchange, GossipEvent, Ready, StreamPing } from './core/ready.ts'
import type { StreamOutcome } from './core/suspicion.ts'
import type { Admission } from './admission.ts'
import {
  wasRefused,
  type GossipTransport,
  type StreamAnswer,
  type StreamRequest,
} from './transport.ts'
import { formatEndpoint } from './wire/address.ts'
import type { PacketWire } from './wire/packet.ts'

export type LoopParts = {
  readonly core: GossipCore
  readonly transport: GossipTransport
  readonly packetWire: PacketWire
  readonly admission: Admission
  readonly clock: Clock
  readonly logger: Logger
  readonly onEvent: (event: GossipEvent) => void
  /** Called before the core hears of it: no member answered. */
  readonly onUnanswered: (id: number, error: string) => void
  /** Called after the core heard of it; an exchange that the core gave up before has no event. */
  readonly onExchanged: (id: number, error: string | null) => void
  readonly onFatal: (error: unknown) => void
}

export class GossipLoop {
  readonly #parts: LoopParts
  #timer: Timer | null = null
  #timerAt = Infinity
  #settling = false
  #stopped = false

  constructor(parts: LoopParts) {
    this.#parts = parts
  }

  start(): void {
    this.#parts.transport.start({
      onPacket: (packet, from) => this.#packet(packet, from),
      onStream: (request, from) => this.#stream(request, from),
    })
    this.#settle()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    this.#timer = null
    await this.#parts.transport.close()
  }

  /** Gives the core something at the present time, and performs what follows. Throws what the core refuses with. */
  input<T>(give: (core: GossipCore, now: number) => T): T {
    const { core, clock } = this.#parts
    if (this.#stopped) throw new MusterError('unavailable', 'gossip has stopped')
    try {
      return give(core, clock.monotonicMs())
    } catch (error) {
      if (!(error instanceof MusterError)) this.#fail(error)
      throw error
    } finally {
      this.#settle()
    }
  }

  #packet(packet: Uint8Array, from: Endpoint): void {
    const { packetWire, admission } = this.#parts
    const messages = packetWire.decode(packet, (reason) => admission.unread(from, reason))
    if (messages.length === 0 || this.#stopped) return
    this.#guarded((core, now) => {
      for (const message of messages)
        if (admission.admits(message)) core.message(message, from, now)
    })
  }

  /** A push/pull is answered by the state as it was before the other's is merged. */
  #stream(request: StreamRequest, from: Endpoint): StreamAnswer | null {
    const { core, logger, admission } = this.#parts
    switch (request.type) {
      case 'ping': {
        const { sequence, node } = request
        if (node !== '' && !core.isCalled(node)) return null
        return { type: 'ack', sequence, payload: null }
      }
      case 'user':
        this.input((core, now) => core.message(request, from, now))
        return null
      case 'push-pull': {
        const state = admission.taken(request)
        if (typeof state === 'string') return { type: 'error', text: state }
        const { reply, error } = this.input((core, now) => core.exchangeReceived(state, from, now))
        if (error !== null) {
          logger.warn('the state of a gossip peer is not taken', {
            from: formatEndpoint(from),
            reason: error,
          })
        }
        return reply
      }
      default:
        return assertNever(request)
    }
  }

  /** Work without a waiter: `input` has reported a defect, a refusal has no caller to go to. */
  #guarded(give: (core: GossipCore, now: number) => void): void {
    if (this.#stopped) return
    try {
      this.input(give)
    } catch (error) {
      if (!(error instanceof MusterError)) return
      this.#parts.logger.error('gossip refused an input of its own', { error: error.message })
    }
  }

  /** Performs until nothing is left to do. Called from within, by a listener, it leaves the rest to the outer call. */
  #settle(): void {
    const { core } = this.#parts
    if (this.#settling || this.#stopped) return
    this.#settling = true
    try {
      while (!this.#stopped && core.hasReady()) this.#perform(core.ready())
      this.#arm()
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#settling = false
    }
  }

  #perform({ packets, exchanges, streamPings, events }: Ready): void {
    const { packetWire, transport, onEvent } = this.#parts
    for (const { to, messages, checksum } of packets) {
      for (const packet of packetWire.encode(messages, { checksum })) {
        transport.sendPacket(to, packet)
      }
    }
    for (const exchange of exchanges) void this.#exchange(exchange)
    for (const ping of streamPings) void this.#ping(ping)
    for (const event of events) onEvent(event)
  }

  async #exchange({ id, to, message, timeoutMs }: Exchange): Promise<void> {
    const { transport, admission, onUnanswered, onExchanged } = this.#parts
    const unanswered = (error: unknown): string => {
      const text = textOf(error)
      if (codeOf(error) !== 'conflict') onUnanswered(id, text)
      return text
    }
    const outcome: PushPull | string = await transport
      .pushPull(to, message, timeoutMs)
      .then((state) => admission.taken(state), unanswered)
    this.#guarded((core, now) => core.exchanged(id, outcome, now))
    onExchanged(id, typeof outcome === 'string' ? outcome : null)
  }

  async #ping({ id, to, ping, timeoutMs }: StreamPing): Promise<void> {
    const outcome = await this.#parts.transport.ping(to, ping, timeoutMs).then(
      (): StreamOutcome => ({ type: 'answered' }),
      (error: unknown): StreamOutcome =>
        wasRefused(error) ? { type: 'refused' } : { type: 'failed', text: textOf(error) },
    )
    this.#guarded((core, now) => core.streamAnswered(id, outcome, now))
  }

  /** One timer at the core's next deadline. One that stands earlier is left to fire in vain rather than set anew. */
  #arm(): void {
    const { core, clock } = this.#parts
    const at = core.nextDeadline
    if (this.#stopped || this.#timerAt <= at) return
    this.#timer?.cancel()
    this.#timerAt = at
    const delayMs = Math.min(Math.max(1, Math.ceil(at - clock.monotonicMs())), timerMsMax)
    this.#timer = clock.setTimer(delayMs, () => {
      this.#timer = null
      this.#timerAt = Infinity
      this.#guarded((core, now) => core.tick(now))
    })
  }

  #fail(error: unknown): void {
    if (this.#stopped) return
    const { logger, onFatal } = this.#parts
    logger.error('gossip stops over a defect', { error: textOf(error) })
    void this.stop()
    onFatal(error)
  }
}
