/** A WebSocket to a server, for a client of this agent that asked for one: message by message, at the client's pace. */
import { on } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import { onAbort } from '../lib/async.ts'
import { MusterError } from '../lib/errors.ts'
import type { HttpAddress } from '../lib/host-port.ts'
import { signalOf } from '../lib/lazy-abort.ts'
import { notSent } from './not-sent.ts'
import { streamedAnswer, urlOf, type Answer, type Ask, type Upstream } from './upstream.ts'

/** Messages that are kept for a slow client before the server has to wait. */
const messagesMax = 64
/** The server says why it ended what it was asked for. */
const failedCode = 1011
const messageBytesMax = 64 * 1024 * 1024

/** Of a server. */
export type OpenWebSocket = {
  readonly messages: AsyncIterableIterator<string | Uint8Array>
  /** Resolves once it may say more, also where nobody hears it any more. */
  readonly send: (message: string) => Promise<void>
}

type Handshake = Pick<Ask, 'url' | 'headers' | 'signal'>

/** Or the answer of a server that opened none. Rejects as `Upstream.ask`. */
export function openWebSocket(upstream: Upstream, ask: Handshake): Promise<Answer | OpenWebSocket> {
  return upstream.anyOf(true, ask.signal, (place) => openAt(upstream, place, ask))
}

function openAt(
  upstream: Upstream,
  place: HttpAddress,
  { url, headers, signal: source }: Handshake,
): Promise<Answer | OpenWebSocket> {
  return new Promise((resolve, reject) => {
    const signal = signalOf(source)
    const limits = { maxPayload: messageBytesMax, handshakeTimeout: 10_000 }
    const websocket = webSocketTo(upstream, place, url, headers, limits)
    // Before it is open; afterwards `close` follows and says enough.
    websocket.on('error', (error: Error) => reject(notSent(error)))
    websocket.once('unexpected-response', (_request: unknown, answer: IncomingMessage) => {
      resolve(streamedAnswer(place, answer))
    })
    websocket.once('open', () => {
      // At once: what arrives before a listener is attached is lost.
      const options = { close: ['close'], signal, highWaterMark: messagesMax, lowWaterMark: 1 }
      const messages = messagesOf(websocket, on(websocket, 'message', options))
      const send = (message: string): Promise<void> =>
        new Promise((sent) => websocket.send(message, { binary: false }, () => sent()))
      resolve({ messages, send })
    })
    websocket.once(
      'close',
      onAbort(signal, () => websocket.terminate()),
    )
  })
}

/** A WebSocket on its way to open. */
export function webSocketTo(
  upstream: Pick<Upstream, 'tlsOf'>,
  place: HttpAddress,
  url: string,
  headers: Ask['headers'],
  limits: { readonly maxPayload: number; readonly handshakeTimeout: number },
): WebSocket {
  return new WebSocket(`${urlOf(place).replace('http', 'ws')}${url}`, {
    headers,
    perMessageDeflate: false,
    ...limits,
    ...upstream.tlsOf(place),
    // The request bears a secret: it waits until the other side is known to be a server.
    finishRequest: (request) => {
      request.once('socket', (socket) => {
        socket.once(place.secure ? 'secureConnect' : 'connect', () => request.end())
      })
    },
  })
}

/** No generator: one that is ended before it began would leave the connection open. */
function messagesOf(
  websocket: WebSocket,
  messages: AsyncIterableIterator<unknown[]>,
): AsyncIterableIterator<string | Uint8Array> {
  let failure: string | null = null
  websocket.once('close', (code: number, reason: Buffer) => {
    if (code === failedCode) failure = reason.toString('utf8')
  })
  const stream: AsyncIterableIterator<string | Uint8Array> = {
    async next() {
      const { done, value } = await messages.next()
      if (done === true) {
        if (failure !== null) throw new MusterError('unavailable', failure)
        return stream.return?.() ?? over
      }
      const [data, isBinary] = value
      const bytes = data as Buffer
      return { done: false, value: isBinary === true ? bytes : bytes.toString('utf8') }
    },
    async return() {
      websocket.terminate()
      await messages.return?.()
      return over
    },
    [Symbol.asyncIterator]: () => stream,
  }
  return stream
}

const over = { done: true, value: undefined } as const
