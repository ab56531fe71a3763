/**
 * From a TCP connection to one that may carry streams: the first byte tells TLS from plain text, a TLS connection has
 * to show a certificate, and what does not fit is cut with one line in the log.
 *
 * Invariant: with TLS on, no byte of a connection whose certificate was not verified reaches HTTP/2, but for plain ones
 * during a change-over.
 */
import type { Socket } from 'node:net'
import { createServer, type Server as TlsServer, type TLSSocket } from 'node:tls'
import { holderOf } from '../lib/certificate-names.ts'
import { textOf } from '../lib/errors.ts'
import type { RefusalKind } from './refusals.ts'
import { alpnProtocols, tlsFailureOf, verdictOn, type WireTls } from './tls.ts'
import type { Wire } from './wire.ts'

/** The type of TLS's handshake records, and the first byte of a client. HTTP/2 begins with a letter. */
const tlsHandshakeByte = 0x16

/** `refusal`: why the holder of its certificate may not take part, to be said to it. */
export type Admit = (socket: Socket, refusal: string | null) => void

export class Admission {
  readonly #wire: Wire
  readonly #admit: Admit
  readonly #tlsServer: TlsServer | null

  constructor(wire: Wire, admit: Admit) {
    this.#wire = wire
    this.#admit = admit
    this.#tlsServer = wire.tls === null ? null : this.#secured(wire.tls)
  }

  /** The socket's owner limits how long it may say nothing. */
  take(socket: Socket): void {
    socket.once('readable', () => {
      const bytes: unknown = socket.read()
      if (!Buffer.isBuffer(bytes)) {
        socket.destroy()
        return
      }
      socket.unshift(bytes)
      if (bytes[0] === tlsHandshakeByte) this.#takeTls(socket)
      else this.#takePlain(socket)
    })
  }

  #takeTls(socket: Socket): void {
    if (this.#tlsServer !== null) {
      this.#tlsServer.emit('connection', socket)
      return
    }
    const text =
      'it speaks TLS, and this server does not; tls.rpc has to be the same on all servers'
    this.#refuse('plain', socket, text)
    // What HTTP/2 answers tells the other side that there is no TLS here.
    this.#admit(socket, null)
  }

  #takePlain(socket: Socket): void {
    const { tls } = this.#wire
    if (tls === null || tls.plainToo) {
      this.#admit(socket, null)
      return
    }
    const text =
      'it speaks plain text, and this server wants TLS of all; tls.rpc_upgrade_mode takes both for the time of a change'
    this.#refuse('plain', socket, text)
    socket.destroy()
  }

  #secured(tls: WireTls): TlsServer {
    const server = createServer({
      ...tls.certificate.options,
      requestCert: true,
      // Checked by `#onSecured`, which can then say whose certificate it was.
      rejectUnauthorized: false,
      ALPNProtocols: alpnProtocols,
      handshakeTimeout: this.#wire.connectTimeoutMs,
    })
    tls.certificate.serve(server)
    server.on('secureConnection', (socket) => this.#onSecured(tls, socket))
    server.on('tlsClientError', (error, socket) => {
      const failure = tlsFailureOf(error)
      if (failure !== null) this.#refuse(failure.kind, socket, failure.text)
      else this.#wire.logger.debug('TLS handshake failed', { reason: textOf(error) })
      socket.destroy()
    })
    return server
  }

  #onSecured(tls: WireTls, socket: TLSSocket): void {
    // One identity for one connection.
    socket.disableRenegotiation()
    const peer = addressOf(socket)
    socket.on('error', (error) =>
      this.#wire.logger.debug('inbound connection failed', { peer, reason: textOf(error) }),
    )
    const certificate = socket.getPeerX509Certificate()
    if (certificate === undefined) {
      this.#refuse('certificate', socket, 'it shows no certificate')
      socket.destroy()
      return
    }
    if (!socket.authorized) {
      const { kind, text } = verdictOn(socket.authorizationError)
      this.#refuse(kind, socket, `${text}; it is for ${holderOf(certificate)}`)
      socket.destroy()
      return
    }
    const refusal = tls.refusalOf(certificate)
    if (refusal !== null) this.#wire.refusals.add('role', peer, refusal, holderOf(certificate))
    this.#admit(socket, refusal)
  }

  #refuse(kind: RefusalKind, socket: Socket, text: string): void {
    this.#wire.refusals.add(kind, addressOf(socket), text)
  }
}

/** For logs: a socket that has closed does not know it any more. */
function addressOf(socket: Socket): string {
  return socket.remoteAddress ?? 'unknown'
}
