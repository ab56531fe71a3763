/** A WebSocket to an agent: messages of text both ways. */
import { on } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import { MusterError } from '../../lib/errors.ts'

const messageBytesMax = 4 * 1_024 * 1_024
const handshakeMs = 10_000
/** The agent says why it ended what it was asked for. */
const failedCode = 1011

export type Line = {
  /** Throws with what the agent says where it ends because of a failure. */
  readonly messages: AsyncIterable<string>
  /** Resolves once it may say more. */
  readonly send: (message: string) => Promise<void>
  readonly close: () => void
}

export type LineOptions = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly tls: {
    readonly rejectUnauthorized?: boolean
    readonly ca?: string
    readonly cert?: string
    readonly key?: string
    readonly servername?: string
  }
}

/** Resolves with the answer where it opens none. Rejects where there is no connection. */
export function openLine({ url, headers, tls }: LineOptions): Promise<Line | IncomingMessage> {
  return new Promise((resolve, reject) => {
    const websocket = new WebSocket(url, {
      headers,
      perMessageDeflate: false,
      maxPayload: messageBytesMax,
      handshakeTimeout: handshakeMs,
      ...tls,
    })
    websocket.on('error', reject)
    websocket.once('unexpected-response', (_request: unknown, answer: IncomingMessage) => {
      resolve(answer)
    })
    websocket.once('open', () => {
      // At once: what arrives before a listener is attached is lost.
      const heard = on(websocket, 'message', { close: ['close'] })
      resolve({
        messages: textsOf(websocket, heard),
        send: (message) =>
          new Promise((sent) => websocket.send(message, { binary: false }, () => sent())),
        close: () => websocket.close(),
      })
    })
  })
}

async function* textsOf(
  websocket: WebSocket,
  heard: AsyncIterableIterator<unknown[]>,
): AsyncGenerator<string, void> {
  const end = { failure: null as string | null }
  websocket.once('close', (code: number, reason: Buffer) => {
    if (code === failedCode) end.failure = reason.toString('utf8')
  })
  for await (const [data] of heard) {
    if (data instanceof Buffer) yield data.toString('utf8')
  }
  if (end.failure !== null) throw new MusterError('unavailable', end.failure)
}
