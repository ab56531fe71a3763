/**
 * TLS between the servers of a region: what this server shows to the others, and whom it believes to be one. A
 * certificate that the others would refuse is refused here first, with the file's name.
 */
import type { X509Certificate } from 'node:crypto'
import { constants } from 'node:crypto'
import { Certificate, tlsKeys, type ReadCertificate } from '../lib/certificate.ts'
import { bearsName, holderOf, serverNameOf } from '../lib/certificate-names.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { WireTls } from '../wire/tls.ts'

export type RpcTlsSettings = {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  /** Whether a certificate must be one of a server of this region, or may be any of the authority. */
  readonly verifyServerHostname: boolean
  /** Plain connections are taken and made too. */
  readonly upgradeMode: boolean
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
}

/** Who besides the region's servers is heard at the RPC port, and what to set; null: nobody. */
export function rpcWarningOf(
  settings: Pick<RpcTlsSettings, 'upgradeMode' | 'verifyServerHostname'> | null,
): string | null {
  if (settings === null) {
    return (
      'RPC is open: any process that reaches its port can act as a server and fetch the cluster key; ' +
      "set tls.folder ('muster tls bootstrap' makes the certificates)"
    )
  }
  if (settings.upgradeMode) {
    return 'RPC is open: tls.rpc_upgrade_mode takes plain connections of any process; set it to false after the change'
  }
  if (settings.verifyServerHostname) return null
  return 'tls.verify_server_hostname is false: any holder of a certificate of tls.ca_file can act as a server; set it to true'
}

export type RpcTlsOptions = {
  readonly settings: RpcTlsSettings
  readonly region: string
  readonly clock: Clock
  readonly logger: Logger
}

const serverAuth = '1.3.6.1.5.5.7.3.1'
const clientAuth = '1.3.6.1.5.5.7.3.2'

const dayMs = 24 * 60 * 60 * 1000
/** From here on every start and every reload says when the certificate ends. */
const endsSoonMs = 14 * dayMs

/** Throws `invalid_argument` with the configuration's key and the file that is wrong. */
export async function loadRpcTls(options: RpcTlsOptions): Promise<WireTls> {
  const { settings, region, clock, logger } = options
  const { minVersion, verifyServerHostname } = settings
  const serverName = serverNameOf(region)
  const certName = `${tlsKeys.certFile} ${settings.certFile}`
  const certificate = await Certificate.load(settings, {
    keys: tlsKeys,
    minVersion,
    // A resumed session would skip the verification, and so outlive a change of the authorities.
    secureOptions: constants.SSL_OP_NO_TICKET,
    check: (read) => {
      const wanted = verifyServerHostname ? serverName : null
      const problem = problemOf(read, wanted, clock.wallMs(), settings.caFile)
      if (problem !== null) throw new MusterError('invalid_argument', `${certName} ${problem}`)
      const untilMs = Date.parse(read.chain[0].validTo)
      if (untilMs - clock.wallMs() > endsSoonMs) return
      logger.warn('the certificate for RPC ends soon', {
        file: settings.certFile,
        until: new Date(untilMs).toISOString(),
      })
    },
  })
  return {
    certificate,
    serverName,
    plainToo: settings.upgradeMode,
    refusalOf: (peer) =>
      !verifyServerHostname || bearsName(peer, serverName)
        ? null
        : `a certificate for ${holderOf(peer)} was shown, but a server of region ${region} shows ${serverName}`,
  }
}

/** Completes a sentence that begins with the file's name; null: others will accept it. */
function problemOf(
  { chain, authorities }: ReadCertificate,
  serverName: string | null,
  nowMs: number,
  caFile: string,
): string | null {
  const [own] = chain
  if (Date.parse(own.validTo) <= nowMs) return `expired on ${own.validTo}`
  if (Date.parse(own.validFrom) > nowMs) return `is valid only from ${own.validFrom}`
  if (!chain.some((link) => authorities.some((authority) => issued(authority, link)))) {
    return `is not from an authority in ${tlsKeys.caFile} ${caFile}`
  }
  // Node's name for the extended key usage; without one a certificate may be used for anything.
  const uses: readonly string[] | undefined = own.keyUsage
  if (uses !== undefined && !(uses.includes(serverAuth) && uses.includes(clientAuth))) {
    return 'may not be used for both sides of a connection (server and client authentication)'
  }
  if (serverName !== null && !bearsName(own, serverName)) {
    return `is for ${holderOf(own)}, but a server here shows ${serverName}; 'muster tls cert create -server' makes one`
  }
  return null
}

function issued(authority: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}
