/**
 * Keeps this agent's uplink: opens it at the server that is asked first, registers the node, says that it lives, and moves to
 * another server at once when that one is lost. What servers ask over it runs in this process, with the rights of whoever asked.
 */
import type { Static, TSchema } from 'typebox'
import { heartbeat, register } from '../domains/nodes/agent-contracts.ts'
import { agentStops, agentWords } from '../domains/nodes/uplink-words.ts'
import type { NodeSpec } from '../domains/nodes/model.ts'
import { Failure, Pause } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import type { HttpAddress } from '../lib/host-port.ts'
import type { Logger } from '../lib/log.ts'
import { randomInteger, type Random } from '../lib/random.ts'
import type { AgentContract, AskServer } from '../rpc/agent-contract.ts'
import type { CallHandler, CallRequest, StreamHandler } from '../rpc/link.ts'
import { ownRequest, Uplink, UplinkHost } from '../rpc/uplink.ts'
import type { Servers } from './servers.ts'
import { openUplinkSocket, type UplinkRequest } from './uplink-socket.ts'
import type { Upstream } from './upstream.ts'

/** A heartbeat that is not answered by then means that the server is lost. */
const heartbeatMs = 5_000
const registerMs = 10_000
/** Pauses between attempts that fail, which double; the first comes at once. */
const pauseMs = { first: 100, max: 5_000, refused: 15_000 } as const

export type UplinkKeeperOptions = {
  readonly node: UplinkRequest
  /** What is told of the machine. */
  readonly spec: () => Promise<NodeSpec>
  readonly upstream: Pick<Upstream, 'tlsOf'>
  readonly servers: Pick<Servers, 'places' | 'demote' | 'onHeartbeat'>
  /** What clients of servers may ask of this agent. */
  readonly onCall: CallHandler
  readonly onStream: StreamHandler
  /** A server takes what this agent asks. */
  readonly onRegistered: () => void
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

type Beat = { readonly ttlMs: number; readonly atMs: number }

export class UplinkKeeper {
  readonly #options: UplinkKeeperOptions
  readonly #host: UplinkHost
  readonly #stopping = new AbortController()
  readonly #pause: Pause
  #at: HttpAddress | null = null
  #uplink: Uplink | null = null
  #isRegistered = false
  /** What is told of the machine is another since. */
  #isStale = false
  #beat: Beat | null = null
  #failures = 0
  #lastComplaint = ''
  #running: Promise<void> = Promise.resolve()

  constructor(options: UplinkKeeperOptions) {
    this.#options = options
    this.#host = new UplinkHost(options.clock, options.log)
    this.#pause = new Pause(options.clock)
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    const uplink = this.#uplink
    // A process that ends before the other side took the goodbye takes it back.
    if (uplink !== null) await new Promise<void>((gone) => uplink.close(agentStops, gone))
    await this.#running
  }

  /** That server is gone, as gossip has it: the uplink is not waited for. */
  gone(place: HttpAddress): void {
    if (this.#at === place) this.#uplink?.close('the server is gone')
  }

  /** Asks the server on this agent's own account. Rejects with `unavailable` while the node is registered at none. */
  readonly ask: AskServer = async (contract, args, timeoutMs) => {
    if (this.#uplink === null || !this.#isRegistered) {
      throw new MusterError('unavailable', 'no server knows this node yet')
    }
    return askOver(this.#uplink, contract, args, timeoutMs)
  }

  /** The next heartbeat is not waited for; where it is under way or there is no uplink, nothing changes. */
  beatNow(): void {
    if (this.#isRegistered) this.#pause.end()
  }

  /** What is told of the machine is another: servers hear of it at once, or when there is an uplink. */
  tellAgain(): void {
    this.#isStale = true
    this.#pause.end()
  }

  /** Of the last heartbeat that a server answered; null: none did yet. */
  get beat(): { readonly ttlMs: number; readonly agoMs: number } | null {
    if (this.#beat === null) return null
    const { ttlMs, atMs } = this.#beat
    return { ttlMs, agoMs: this.#options.clock.monotonicMs() - atMs }
  }

  async #run(): Promise<void> {
    const { servers, log } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const [place] = servers.places
      if (place === undefined) {
        await this.#pause.wait(pauseMs.first, signal)
        continue
      }
      let isRefused = false
      try {
        await this.#serve(place)
      } catch (error) {
        if (signal.aborted) return
        servers.demote(place)
        isRefused = codeOf(error) === 'permission_denied'
        this.#complain(isRefused, textOf(error))
        log.debug('the uplink ended', {
          server: `${place.host}:${place.port}`,
          error: textOf(error),
        })
      }
      this.#uplink = null
      this.#isRegistered = false
      this.#at = null
      await this.#pauseAfter(isRefused)
    }
  }

  /** Rejects when it ends. */
  async #serve(place: HttpAddress): Promise<never> {
    const { node, upstream, clock, log } = this.#options
    const { signal } = this.#stopping
    const ended = new Failure()
    const uplink = await openUplinkSocket(upstream, place, node, {
      clock,
      signal,
      opened: (socket) =>
        new Uplink(socket, {
          host: this.#host,
          side: 'agent',
          peer: `${place.host}:${place.port}`,
          onCall: (request, aborted) => this.#asked(request, aborted),
          onStream: this.#options.onStream,
          onClose: (reason) => ended.fail(new MusterError('unavailable', reason)),
        }),
    })
    this.#uplink = uplink
    this.#at = place
    try {
      await this.#register(uplink)
      this.#isRegistered = true
      this.#options.onRegistered()
      log.info('the node is registered', { server: `${place.host}:${place.port}` })
      this.#lastComplaint = ''
      for (;;) {
        if (this.#isStale) await this.#register(uplink)
        const ttlMs = await this.#heartbeat(uplink)
        this.#failures = 0
        if (this.#isStale) continue
        await ended.until(this.#pause.wait(ttlMs / 2, signal))
      }
    } finally {
      this.#pause.end()
      uplink.close('the agent opens another uplink')
    }
  }

  async #register(uplink: Uplink): Promise<void> {
    this.#isStale = false
    const spec = await this.#options.spec()
    await askOver(uplink, register, { spec }, registerMs)
  }

  async #heartbeat(uplink: Uplink): Promise<number> {
    const { ttlMs } = await askOver(uplink, heartbeat, {}, heartbeatMs)
    this.#beat = { ttlMs, atMs: this.#options.clock.monotonicMs() }
    this.#options.servers.onHeartbeat()
    return ttlMs
  }

  async #asked(request: CallRequest, signal: AbortSignal): Promise<unknown> {
    if (request.method === agentWords.ping) return true
    if (request.method !== agentWords.register) return this.#options.onCall(request, signal)
    if (this.#uplink === null) throw new MusterError('unavailable', 'the agent registers already')
    await this.#register(this.#uplink)
    // The first heartbeat makes the node ready again.
    this.#pause.end()
    return true
  }

  async #pauseAfter(isRefused: boolean): Promise<void> {
    const { random } = this.#options
    const { first, max, refused } = pauseMs
    const atMost = isRefused ? refused : Math.min(max, first * 2 ** this.#failures)
    const isFirst = this.#failures === 0 && !isRefused
    this.#failures += 1
    if (isFirst) return
    await this.#pause.wait(randomInteger(random, atMost / 2, atMost), this.#stopping.signal)
  }

  /** Once for each reason: it is tried again and again. */
  #complain(isRefused: boolean, error: string): void {
    if (error === this.#lastComplaint) return
    this.#lastComplaint = error
    const { log } = this.#options
    if (isRefused) log.error('the servers refuse this node', { error })
    else log.warn('the uplink was lost, another server is asked', { error })
  }
}

async function askOver<Args extends TSchema, Reply extends TSchema>(
  uplink: Uplink,
  { name, checked }: AgentContract<Args, Reply>,
  args: Static<Args>,
  timeoutMs: number,
): Promise<Static<Reply>> {
  return checked(await uplink.call(ownRequest(name, args, timeoutMs)))
}
