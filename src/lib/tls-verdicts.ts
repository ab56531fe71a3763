/** What the TLS library found wrong with the other side, in words. */

const unknownAuthority =
  'its certificate is from an authority that this agent does not trust (tls.ca_file)'
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

/** Completes "<the other side> was refused: "; null: the code is not about a certificate. */
export function certificateVerdictOf(code: string): string | null {
  return verdicts[code] ?? null
}

/** OpenSSL read something that is no record of TLS. */
const notTls: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
])

/** The other side does not speak TLS at all. */
export function speaksPlain(code: string): boolean {
  return notTls.has(code)
}

/** The library gives an error, or only its code. */
export function tlsCodeOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (typeof error === 'object' && error !== null && 'code' in error) return String(error.code)
  return 'no reason given'
}
