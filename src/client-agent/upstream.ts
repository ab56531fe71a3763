/**
 * A client agent's way to the API of the servers: one after the other until one takes the connection. What was sent and
 * not answered is asked again elsewhere only if that cannot do it twice.
 */
import { Agent, request as plainRequest, type IncomingMessage } from '../lib/http.ts'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { deadlineOf } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { gather } from '../lib/gather.ts'
import { hostPort, type HttpAddress } from '../lib/host-port.ts'
import { signalOf, type AbortSource } from '../lib/lazy-abort.ts'
import { onceConnected } from './connecting.ts'
import { Exchanges } from './exchanges.ts'
import { NotSent, notSent } from './not-sent.ts'
import { requestText } from './request-text.ts'
import { UntrustedServer, type ServerTrust } from './server-trust.ts'
import { SilentServers } from './silent-servers.ts'
import { withWaitLeft } from './wait-left.ts'

/** To connect; a server that is slower than that is left for another one. */
const connectMs = 2_000
/** Of requests that are not sent whole. With those of `Exchanges`: as many as a server takes of one address by default. */
const socketsMax = 512
const idleSocketsMax = 64
/** Of an `expect` header: the body is sent once the server asks for it, and never if it answers before that. */
export const expectation = '100-continue'
/** To answer a question that takes no work; a server that is slower is taken for one that stands still. */
const aliveMs = 1_000

export type Ask = {
  readonly method: string
  /** Path and query string. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | null
  readonly signal: AbortSource
}

export type Answer = {
  readonly place: HttpAddress
  readonly status: number
  /** Names and values in turn, as they were written. */
  readonly lines: readonly string[]
  /** A stream is read to its end, or destroyed. */
  readonly body: Buffer | IncomingMessage
}

export type UpstreamOptions = {
  /** In the order in which they are to be tried. */
  readonly places: () => readonly HttpAddress[]
  /** It could not be reached, is no server of the region, or broke off. */
  readonly onFailed: (place: HttpAddress, error: unknown) => void
  readonly trust: Pick<ServerTrust, 'tlsOnly' | 'connection'>
  readonly clock: Clock
}

export class Upstream {
  readonly #options: UpstreamOptions
  /** By address: what is open to a server ends with it. */
  readonly #agents = new Map<string, Agent>()
  readonly #exchanges = new Map<string, Exchanges>()
  readonly #silent: SilentServers
  #isStopped = false

  constructor(options: UpstreamOptions) {
    this.#options = options
    this.#silent = new SilentServers({
      clock: options.clock,
      probe: (place) => this.#sayAnything(place),
      onSilent: (place, error) => {
        options.onFailed(place, error)
        this.drop(place)
      },
    })
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** Breaks what is open. */
  stop(): void {
    this.#isStopped = true
    this.#silent.stop()
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
    for (const exchanges of this.#exchanges.values()) exchanges.stop()
    this.#exchanges.clear()
  }

  /** Breaks what is open to a server that is gone. */
  drop(place: HttpAddress): void {
    const key = urlOf(place)
    this.#agents.get(key)?.destroy()
    this.#agents.delete(key)
    this.#exchanges.get(key)?.stop()
    this.#exchanges.delete(key)
  }

  /**
   * Resolves with the head of the answer. Rejects with `no_leader` when no server could be asked, `outcome_unknown`
   * when one was and did not answer, `cancelled`.
   */
  ask(ask: Ask): Promise<Answer> {
    const isRepeatable = ask.body === null && ['GET', 'HEAD', 'LIST'].includes(ask.method)
    const { clock } = this.#options
    const startMs = clock.monotonicMs()
    let isAgain = false
    return this.anyOf(isRepeatable, ask.signal, (place) => {
      const url = isAgain ? withWaitLeft(ask.url, clock.monotonicMs() - startMs) : ask.url
      isAgain = true
      return this.askOne(place, { ...ask, url })
    })
  }

  /** Tries the servers in turn; `run` rejects with what `notSent` made when nothing has reached the server. */
  async anyOf<T>(
    isRepeatable: boolean,
    signal: AbortSource,
    run: (place: HttpAddress) => Promise<T>,
  ): Promise<T> {
    const reasons: string[] = []
    for (const place of this.#options.places()) {
      if (this.#isStopped) break
      try {
        return await run(place)
      } catch (error) {
        if (signal.aborted) throw ended(signal)
        this.#options.onFailed(place, error)
        if (!(error instanceof NotSent) && !isRepeatable) {
          throw new MusterError(
            'outcome_unknown',
            `the server broke off, and what was asked may or may not take effect: ${textOf(error)}`,
            { cause: error },
          )
        }
        reasons.push(`${hostPort(place.host, place.port)}: ${textOf(error)}`)
      }
    }
    const why = reasons.length === 0 ? 'none is known' : reasons.join('; ')
    throw new MusterError('no_leader', `No known servers: ${why}`)
  }

  /** Rejects when it does not; what it says does not matter. */
  async #sayAnything(place: HttpAddress): Promise<void> {
    const question = { method: 'GET', url: '/v1/status/leader?stale', headers: {}, body: null }
    const deadline = deadlineOf(this.clock, aliveMs)
    const over = (): void => deadline.cancel()
    try {
      const { body } = await this.askOne(place, { ...question, signal: deadline.signal })
      if (Buffer.isBuffer(body)) over()
      else body.once('close', over).resume()
    } catch (error) {
      over()
      throw error
    }
  }

  /** As `ask`, of this one server. */
  askOne(place: HttpAddress, ask: Ask): Promise<Answer> {
    const { method, body } = ask
    const isWhole = body === null || body instanceof Uint8Array
    // Only a parser that knows of the question knows that the answer to it has no body.
    return isWhole && method !== 'HEAD'
      ? this.#exchange(place, { ...ask, body })
      : this.#stream(place, ask)
  }

  /** The request is sent in one piece, and so is its answer taken if it is short. */
  async #exchange(
    place: HttpAddress,
    ask: Ask & { readonly body: Uint8Array | null },
  ): Promise<Answer> {
    const exchanges = this.#exchangesOf(place)
    const answer = await exchanges.ask(ask.method, requestText(place, ask), ask.signal)
    return 'lines' in answer ? { place, ...answer } : streamedAnswer(place, answer)
  }

  #stream(place: HttpAddress, { method, url, headers, body, signal }: Ask): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let isSent = false
      let heard: (() => void) | null = null
      const over = (): void => {
        heard?.()
        heard = null
      }
      const tls = this.tlsOf(place)
      const send = place.secure ? secureRequest : plainRequest
      const request = send({
        ...tls,
        agent: this.#agentOf(place),
        host: place.host,
        port: place.port,
        method,
        path: url,
        headers: headers as Record<string, string | string[]>,
        signal: signalOf(signal),
      })
      request.on('socket', (socket) => {
        const connecting = { secure: place.secure, ms: connectMs, clock: this.#options.clock }
        if (request.reusedSocket) begin()
        else onceConnected(socket, connecting, begin, (error) => request.destroy(error))
      })
      const begin = (): void => {
        isSent = true
        heard = this.#silent.asked(urlOf(place), place)
        if (body === null || body instanceof Uint8Array) {
          request.end(body ?? undefined)
        } else if (headers['expect'] === expectation) {
          request.once('continue', () => sendBody(body))
          request.flushHeaders()
        } else {
          sendBody(body)
        }
      }
      let isBodyKept = headers['expect'] === expectation
      const sendBody = (pieces: AsyncIterable<Uint8Array>): void => {
        isBodyKept = false
        pipeline(Readable.from(pieces, { objectMode: false }), request).catch((error: unknown) => {
          request.destroy(error instanceof Error ? error : new Error(textOf(error)))
        })
      }
      request.on('close', over)
      request.on('error', (error) => reject(isSent ? error : notSent(error)))
      request.on('response', (answer) => {
        over()
        // The server refused before it asked for the body: the rest of this request never comes.
        if (isBodyKept) answer.once('close', () => request.destroy())
        resolve(streamedAnswer(place, answer))
      })
    })
  }

  /** How to connect to it. Throws for one that would be asked in plain HTTP where only TLS is spoken. */
  tlsOf(place: HttpAddress): ServerTrust['connection'] | undefined {
    const { tlsOnly, connection } = this.#options.trust
    if (place.secure) return connection
    if (!tlsOnly) return undefined
    throw notSent(new UntrustedServer('plain HTTP is not spoken to servers, as tls.ca_file is set'))
  }

  #exchangesOf(place: HttpAddress): Exchanges {
    const key = urlOf(place)
    const known = this.#exchanges.get(key)
    if (known !== undefined) return known
    const exchanges = new Exchanges({
      place,
      tls: () => this.tlsOf(place),
      connectMs,
      onAsked: () => this.#silent.asked(key, place),
      clock: this.#options.clock,
    })
    this.#exchanges.set(key, exchanges)
    return exchanges
  }

  #agentOf(place: HttpAddress): Agent {
    const key = urlOf(place)
    const known = this.#agents.get(key)
    if (known !== undefined) return known
    const options = { keepAlive: true, maxSockets: socketsMax, maxFreeSockets: idleSocketsMax }
    // A resumed session would skip the look at the certificate, and so outlive a change of the authorities.
    const agent = place.secure
      ? new SecureAgent({ ...options, maxCachedSessions: 0 })
      : new Agent(options)
    this.#agents.set(key, agent)
    return agent
  }
}

function ended(signal: AbortSource): MusterError {
  const reason: unknown = 'reason' in signal ? signal.reason : null
  return reason instanceof DOMException && reason.name === 'TimeoutError'
    ? new MusterError('timeout', 'no server answered in time')
    : new MusterError('cancelled', 'the client went away')
}

export function urlOf({ secure, host, port }: HttpAddress): string {
  return `${secure ? 'https' : 'http'}://${hostPort(host, port)}`
}

export function streamedAnswer(place: HttpAddress, answer: IncomingMessage): Answer {
  const { statusCode: status = 502, rawHeaders: lines } = answer
  return { place, status, lines, body: answer }
}

/** By its name in lower case. */
export function headerOf({ lines }: Pick<Answer, 'lines'>, name: string): string | null {
  for (let at = 0; at < lines.length; at += 2) {
    if (lines[at]?.toLowerCase() === name) return lines[at + 1] ?? null
  }
  return null
}

/** Whole, if it is no longer than that. Rejects with `unavailable`, and `outcome_unknown` for one that breaks off. */
export async function bytesOf({ body }: Answer, bytesMax: number): Promise<Buffer> {
  const bytes = Buffer.isBuffer(body) ? body : await readWhole(body, bytesMax)
  if (bytes !== null && bytes.length <= bytesMax) return bytes
  throw new MusterError('unavailable', `a server answered with over ${bytesMax} bytes`)
}

/** Null: it is longer. */
async function readWhole(body: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer | null> {
  try {
    return await gather(body, bytesMax)
  } catch (error) {
    const text = `the server broke off in the middle of its answer: ${textOf(error)}`
    throw new MusterError('outcome_unknown', text, { cause: error })
  }
}
