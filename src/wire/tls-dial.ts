/**
 * TLS on one outgoing connection, as gRPC wants it: made after TCP, before HTTP/2. Nothing is sent inside before the
 * other side's certificate was verified and found to be a server's of this region.
 */
import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { connect } from 'node:tls'
import { CallCredentials, ChannelCredentials, type experimental } from '@grpc/grpc-js'
import { alpnProtocols, tlsFailureOf, type TlsFailure, type WireTls } from './tls.ts'

/** Of one dial; it is told apart from others by its identity. */
export class TlsDialing extends ChannelCredentials {
  readonly #tls: WireTls
  #failure: TlsFailure | null = null
  #secured = false

  constructor(tls: WireTls) {
    super()
    this.#tls = tls
  }

  /** What TLS made of it; null: nothing that would explain a failure. */
  get failure(): TlsFailure | null {
    return this.#failure
  }

  /** The other side's certificate is good. Only then it looks at this side's. */
  get secured(): boolean {
    return this.#secured
  }

  override _isSecure(): boolean {
    return true
  }

  override _equals(other: ChannelCredentials): boolean {
    return other === this
  }

  override _createSecureConnector(): experimental.SecureConnector {
    return {
      connect: (socket) => this.#connect(socket),
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => CallCredentials.createEmpty(),
      destroy: () => {},
    }
  }

  #connect(socket: Socket): Promise<experimental.SecureConnectResult> {
    return new Promise((resolve, reject) => {
      const { certificate, serverName } = this.#tls
      const secure = connect({
        socket,
        secureContext: certificate.context,
        servername: serverName,
        ALPNProtocols: alpnProtocols,
        rejectUnauthorized: true,
        // Servers are known by their role, not by where they are: that is checked below.
        checkServerIdentity: () => undefined,
      })
      // For good: after the handshake the other side may still refuse this side's certificate.
      secure.on('error', (error) => {
        this.#failure ??= tlsFailureOf(error)
        reject(error)
      })
      secure.once('secureConnect', () => {
        const refusal = refusalOf(this.#tls, secure.getPeerX509Certificate())
        if (refusal === null) {
          this.#secured = true
          resolve({ socket: secure, secure: true })
          return
        }
        this.#failure = { kind: 'role', text: refusal, plain: false }
        secure.destroy()
        reject(new Error(refusal))
      })
    })
  }
}

function refusalOf(tls: WireTls, certificate: X509Certificate | undefined): string | null {
  return certificate === undefined ? 'it shows no certificate' : tls.refusalOf(certificate)
}
