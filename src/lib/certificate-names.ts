/** Whom a certificate is for: the name that all servers of a region bear, and the names in it as people read them. */
import type { X509Certificate } from 'node:crypto'

/** The name in the certificates of all servers of a region, as 'muster tls cert create -server' writes it. */
export function serverNameOf(region: string): string {
  return `server.${region}.muster`
}

/** No wildcards: `*.global.muster` would be every role at once. The common name is not looked at. */
export function bearsName(certificate: X509Certificate, name: string): boolean {
  const found = certificate.checkHost(name, {
    subject: 'never',
    wildcards: false,
    partialWildcards: false,
  })
  return found !== undefined
}

const namesLengthMax = 200

/** Whom a certificate is for, as a log line may show it. */
export function holderOf(certificate: X509Certificate): string {
  const names = certificate.subjectAltName ?? certificate.subject ?? 'nobody'
  const shown = names.replace(/[^\x20-\x7e]/g, '?')
  return shown.length > namesLengthMax ? `${shown.slice(0, namesLengthMax)}…` : shown
}
