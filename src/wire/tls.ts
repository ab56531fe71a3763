/**
 * What TLS between servers needs to know, declared by the side that speaks it, and its failures in words. Both sides
 * show a certificate and verify the other's: first its chain, then who it is for.
 */
import type { X509Certificate } from 'node:crypto'
import type { Certificate } from '../lib/certificate.ts'
import type { RefusalKind } from './refusals.ts'

export type WireTls = {
  /** The own certificate and the authorities of all others; asked at every connection, for it can be renewed. */
  readonly certificate: Certificate
  /** The name that is asked for, as others may be behind the same address. */
  readonly serverName: string
  /** Null: whoever holds this, with its chain verified, may take part. Else a sentence with the wanted and the given name. */
  refusalOf(certificate: X509Certificate): string | null
  /** For the time of a change-over: plain connections are taken too, and made where TLS is not spoken. */
  readonly plainToo: boolean
}

export const alpnProtocols = ['h2']

export type TlsFailure = {
  readonly kind: RefusalKind
  /** Completes "<who> was refused: ". */
  readonly text: string
  /** The other side does not speak TLS at all. */
  readonly plain: boolean
}

const unknownAuthority = 'its certificate is from an authority that this server does not know'
const verdicts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  CERT_REVOKED: 'its certificate is revoked',
  CERT_SIGNATURE_FAILURE: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  INVALID_PURPOSE: 'its certificate may not be used for this side of a connection',
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'it shows no certificate',
}

/** OpenSSL read something that is no record of TLS. */
const notTls: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
])

/** Null: the connection just broke, which says nothing about certificates. */
export function tlsFailureOf(error: unknown): TlsFailure | null {
  const code = codeOf(error)
  if (notTls.has(code)) {
    return {
      kind: 'plain',
      text: 'it does not speak TLS, and this server does (tls.rpc)',
      plain: true,
    }
  }
  const verdict = verdicts[code]
  if (verdict !== undefined)
    return { kind: 'certificate', text: `${verdict} (${code})`, plain: false }
  if (/_ALERT_.*(CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/.test(code)) {
    return {
      kind: 'certificate',
      text: `it refuses this server's certificate (${code})`,
      plain: false,
    }
  }
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) {
    return { kind: 'tls', text: `TLS failed (${code})`, plain: false }
  }
  return null
}

/** `verified` is what the library found of the chain; anything but null is a reason to refuse. */
export function verdictOn(verified: unknown): TlsFailure {
  const failure = tlsFailureOf(verified)
  if (failure !== null) return failure
  const text = `its certificate was not verified (${codeOf(verified)})`
  return { kind: 'certificate', text, plain: false }
}

/** The library gives an error, or only its code. */
function codeOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (typeof error === 'object' && error !== null && 'code' in error) return String(error.code)
  return 'no reason given'
}

const namesLengthMax = 200

/** Whom a certificate is for, as a log line may show it. */
export function holderOf(certificate: X509Certificate): string {
  const names = certificate.subjectAltName ?? certificate.subject ?? 'nobody'
  const shown = names.replace(/[^\x20-\x7e]/g, '?')
  return shown.length > namesLengthMax ? `${shown.slice(0, namesLengthMax)}…` : shown
}
