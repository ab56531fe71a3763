/**
 * What TLS between servers needs to know, declared by the side that speaks it, and its failures in words. Both sides
 * show a certificate and verify the other's: first its chain, then who it is for.
 */
import type { X509Certificate } from 'node:crypto'
import type { Certificate } from '../lib/certificate.ts'
import { certificateVerdictOf, speaksPlain, tlsCodeOf } from '../lib/tls-verdicts.ts'
import type { RefusalKind } from './refusals.ts'

export type WireTls = {
  /** The own certificate and the authorities of all others; asked at every connection, for it can be renewed. */
  readonly certificate: Certificate
  /** The name that is asked for, as others may be behind the same address. */
  readonly serverName: string
  /** Null: the holder of this certificate, with its chain verified, may take part. Else a sentence with the wanted and the given name. */
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

/** Null: the connection just broke, which says nothing about certificates. */
export function tlsFailureOf(error: unknown): TlsFailure | null {
  const code = tlsCodeOf(error)
  if (speaksPlain(code)) {
    return {
      kind: 'plain',
      text: 'it does not speak TLS, and this server does (tls.rpc)',
      plain: true,
    }
  }
  const verdict = certificateVerdictOf(code)
  if (verdict !== null) {
    return { kind: 'certificate', text: `${verdict} (${code})`, plain: false }
  }
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
  const text = `its certificate was not verified (${tlsCodeOf(verified)})`
  return { kind: 'certificate', text, plain: false }
}
