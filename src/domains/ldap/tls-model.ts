/** The versions of TLS, oldest first, as a configuration names them. */
export const tlsVersions = ['tls10', 'tls11', 'tls12', 'tls13'] as const
export type TlsVersion = (typeof tlsVersions)[number]
