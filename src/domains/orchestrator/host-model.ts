/** Where an orchestrator's API server is: a host, a host with its port, or a URL, all of them over TLS. */
import { MusterError } from '../../lib/errors.ts'
import { withoutSlashesAtEnd } from '../../lib/slashes.ts'

export const hostLengthMax = 2_048

/** The URL below which its API is, without a slash at its end. Throws `invalid_argument`. */
export function hostUrl(host: string, field: string): string {
  const text = host.trim()
  if (text === '') throw unfit(`${field} is missing: the host, host:port or URL of the API server`)
  if (text.length > hostLengthMax) throw unfit(`${field} has more than ${hostLengthMax} letters`)
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
  const url = URL.parse(hasScheme ? text : `https://${text}`)
  if (url === null || url.hostname === '') {
    throw unfit(`${field} must be a host, host:port or https:// URL`)
  }
  // The review holds two tokens, which must not be sent in the clear.
  if (url.protocol !== 'https:') throw unfit(`${field} must be reached by https://`)
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw unfit(`${field} must have no user, query or fragment`)
  }
  return withoutSlashesAtEnd(url.href)
}

function unfit(text: string): MusterError {
  return new MusterError('invalid_argument', text)
}
