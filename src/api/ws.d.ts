/** The part of package `ws` that is used here; the package brings no types of its own. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events'
  import type { ClientRequest, IncomingMessage } from 'node:http'
  import type { Duplex } from 'node:stream'
  import type { PeerCertificate, SecureContext } from 'node:tls'

  export class WebSocket extends EventEmitter {
    constructor(
      url: string,
      options: {
        headers: Readonly<Record<string, string | readonly string[]>>
        perMessageDeflate: false
        maxPayload: number
        /** Milliseconds. */
        handshakeTimeout: number
        ca?: string
        cert?: string
        key?: string
        servername?: string
        rejectUnauthorized?: boolean
        secureContext?: SecureContext
        checkServerIdentity?: (host: string, certificate: PeerCertificate) => Error | undefined
        /** Ends the request of the handshake; without it the library does at once. */
        finishRequest?: (request: ClientRequest) => void
      },
    )
    /** `done` is called once the message is handed to the system, or with the reason why it is not. */
    send(
      data: string | Uint8Array,
      options: { binary: boolean },
      done: (error?: Error | null) => void,
    ): void
    ping(): void
    /** Reads nothing more from the connection, control frames neither. */
    pause(): void
    resume(): void
    close(code?: number, reason?: string): void
    terminate(): void
  }

  export class WebSocketServer extends EventEmitter {
    constructor(options: {
      noServer: true
      clientTracking: boolean
      maxPayload: number
      /** Of one message. */
      maxFragments: number
      /** Pieces, as the socket delivers them, of a frame that is not whole yet. */
      maxBufferedChunks: number
      /** Milliseconds from the first word of a goodbye to the end of the connection. */
      closeTimeout: number
      perMessageDeflate: false
    })
    handleUpgrade(
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      onOpen: (websocket: WebSocket) => void,
    ): void
  }
}
