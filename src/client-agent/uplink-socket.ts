/** Opens the WebSocket of an uplink at one server, which is known to be one before it is sent the node's secret. */
import type { IncomingMessage } from 'node:http'
import { WebSocketMessages } from '../api/message-socket.ts'
import { uplinkHeaders, uplinkPath, uplinkVersion } from '../domains/nodes/uplink-words.ts'
import { onAbort } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { HttpAddress } from '../lib/host-port.ts'
import { messageBytesMax, type MessageSocket } from '../rpc/uplink-channels.ts'
import { notSent } from './not-sent.ts'
import { bytesOf, streamedAnswer, type Upstream } from './upstream.ts'
import { webSocketTo } from './upstream-websocket.ts'

const handshakeMs = 5_000
const refusalBytesMax = 4_096

export type UplinkRequest = {
  readonly nodeId: string
  readonly name: string
  readonly secret: string
  /** Of the agent; null: it has none. */
  readonly token: string | null
}

/**
 * `opened` is called in the turn in which it opens. Rejects with `permission_denied` where the server refuses this node, and
 * otherwise as `Upstream.ask` does where there is no connection.
 */
export function openUplinkSocket<Result>(
  upstream: Pick<Upstream, 'tlsOf'>,
  place: HttpAddress,
  { nodeId, name, secret, token }: UplinkRequest,
  options: {
    readonly clock: Clock
    readonly signal: AbortSignal
    readonly opened: (socket: MessageSocket) => Result
  },
): Promise<Result> {
  const { clock, signal, opened } = options
  return new Promise((resolve, reject) => {
    const headers = {
      [uplinkHeaders.nodeId]: nodeId,
      [uplinkHeaders.nodeName]: name,
      [uplinkHeaders.secret]: secret,
      ...(token !== null && { 'x-service-token': token }),
    }
    const url = `${uplinkPath}?version=${uplinkVersion}`
    const limits = { maxPayload: messageBytesMax, handshakeTimeout: handshakeMs }
    const websocket = webSocketTo(upstream, place, url, headers, limits)
    // Before it is open; afterwards `close` follows.
    websocket.on('error', (error: Error) => reject(notSent(error)))
    websocket.once('unexpected-response', (_request: unknown, answer: IncomingMessage) => {
      const { statusCode: status = 502 } = answer
      bytesOf(streamedAnswer(place, answer), refusalBytesMax).then(
        (bytes) => reject(refusalOf(status, bytes.toString('utf8'))),
        reject,
      )
    })
    // Once it is open it is for who has it to close: in order, so that the server hears why.
    const unhear = onAbort(signal, () => websocket.terminate())
    websocket.once('open', () => {
      unhear()
      resolve(opened(new WebSocketMessages(websocket, clock)))
    })
    websocket.once('close', unhear)
  })
}

function refusalOf(status: number, text: string): MusterError {
  const code = status === 403 ? 'permission_denied' : 'unavailable'
  return new MusterError(code, `the server said ${status}: ${text}`)
}
