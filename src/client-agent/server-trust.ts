/**
 * Which processes a client agent believes to be servers. Gossip only says where to look: any member with the gossip key
 * can say that it is a server. With `tls.ca_file` the certificate decides: it is from one of these authorities and bears
 * the name of the region's servers, or nothing is sent. Without it every member that gossips as a server is believed.
 */
import { X509Certificate } from 'node:crypto'
import {
  checkServerIdentity,
  createSecureContext,
  type PeerCertificate,
  type SecureContext,
} from 'node:tls'
import { readAuthorities, tlsKeys } from '../lib/certificate.ts'
import { bearsName, holderOf, serverNameOf } from '../lib/certificate-names.ts'
import { certificateVerdictOf, speaksPlain, tlsCodeOf } from '../lib/tls-verdicts.ts'

export type ServerTrustSettings = {
  /** Null: any member that gossips as a server is believed. */
  readonly caFile: string | null
  /** Whether a certificate must be one of a server of this region, or may be for the address that it is reached at. */
  readonly verifyServerHostname: boolean
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
}

/** For `tls.connect`, directly or through others. */
export type TlsConnection = {
  readonly secureContext?: SecureContext
  readonly checkServerIdentity: (host: string, certificate: PeerCertificate) => Error | undefined
}

/** What answered is no server of the region, or does not prove it: nothing was sent to it. */
export class UntrustedServer extends Error {
  override readonly name = 'UntrustedServer'
}

const insecure =
  'tokens of callers travel in the clear, and to any process that gossips as a server; ' +
  'set tls.folder or tls.ca_file here, and tls.http on the servers'
const anyHolder =
  'tls.verify_server_hostname is false: tokens of callers go to any holder of a certificate of tls.ca_file that gossips ' +
  'as a server; set it to true'

export class ServerTrust {
  readonly #settings: ServerTrustSettings
  readonly #region: string
  #connection: TlsConnection

  private constructor(settings: ServerTrustSettings, region: string, connection: TlsConnection) {
    this.#settings = settings
    this.#region = region
    this.#connection = connection
  }

  /** Throws `invalid_argument` with the configuration's key and the file that is wrong. */
  static async load(settings: ServerTrustSettings, region: string): Promise<ServerTrust> {
    return new ServerTrust(settings, region, await connectionOf(settings, region))
  }

  /** Only TLS is spoken to servers, whatever gossip says of them. */
  get tlsOnly(): boolean {
    return this.#settings.caFile !== null
  }

  /** Asked for every connection: the authorities can be read again. */
  get connection(): TlsConnection {
    return this.#connection
  }

  /** Why tokens are not safe on their way to the servers, and what to set; null: they are. */
  get warning(): string | null {
    if (!this.tlsOnly) return insecure
    return this.#settings.verifyServerHostname ? null : anyHolder
  }

  /** Throws as `load`; then what was read before counts on. Connections that exist go on. */
  async reload(): Promise<void> {
    this.#connection = await connectionOf(this.#settings, this.#region)
  }
}

async function connectionOf(settings: ServerTrustSettings, region: string): Promise<TlsConnection> {
  const { caFile, verifyServerHostname, minVersion } = settings
  const serverName = serverNameOf(region)
  // By the host that it is reached at, or by what it is.
  const byHost: TlsConnection['checkServerIdentity'] = (host, certificate) =>
    checkServerIdentity(host, certificate) && checkServerIdentity(serverName, certificate)
  if (caFile === null) return { checkServerIdentity: byHost }
  const { pem } = await readAuthorities(`${tlsKeys.caFile} ${caFile}`, caFile)
  const byName: TlsConnection['checkServerIdentity'] = (_host, { raw }) => {
    const certificate = new X509Certificate(raw)
    if (bearsName(certificate, serverName)) return undefined
    return new UntrustedServer(
      `its certificate is for ${holderOf(certificate)}, but a server of region ${region} shows ${serverName}`,
    )
  }
  return {
    secureContext: createSecureContext({ ca: pem, minVersion }),
    checkServerIdentity: verifyServerHostname ? byName : byHost,
  }
}

/** An error of a connection in which nothing was sent yet; null: it says nothing about who is at the other end. */
export function untrustedBy(error: unknown): UntrustedServer | null {
  if (error instanceof UntrustedServer) return error
  const code = tlsCodeOf(error)
  const sentence = speaksPlain(code)
    ? 'it does not speak TLS (is tls.http set there?)'
    : (certificateVerdictOf(code) ?? otherFailure(code))
  return sentence === null ? null : new UntrustedServer(sentence, { cause: error })
}

function otherFailure(code: string): string | null {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'its certificate is for another name'
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') ? `TLS failed (${code})` : null
}
