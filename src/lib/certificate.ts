/**
 * A certificate with its key, and the authorities it trusts, read from PEM files at start and again when the operator
 * asks. New files count for new connections; those that exist go on. Files that do not fit leave everything as it was.
 */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import { MusterError, textOf } from './errors.ts'

export type CertificateFiles = {
  readonly certFile: string
  readonly keyFile: string
  /** One or several authorities; without it no certificate is asked of the other side. */
  readonly caFile?: string
}

/** How the configuration calls the files, for messages to people. */
export type CertificateKeys = { readonly [File in keyof CertificateFiles]-?: string }

export type CertificateUse = {
  readonly keys: CertificateKeys
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** Further options of the library. */
  readonly secureOptions?: number
  /** Throws `invalid_argument` when files that fit one another do not fit their use. */
  readonly check?: (read: ReadCertificate) => void
}

export type ReadCertificate = {
  /** The own one first, then those between it and its authority. */
  readonly chain: readonly [X509Certificate, ...X509Certificate[]]
  readonly authorities: readonly X509Certificate[]
}

/** What of a TLS server is needed here. */
type SecureServer = { setSecureContext(options: SecureContextOptions): void }

type Read = ReadCertificate & {
  readonly options: SecureContextOptions
  readonly context: SecureContext
}

/** No usual certificate chain is longer. */
const PEM_BYTES_MAX = 1024 * 1024

/** Of the `tls` block of a configuration. */
export const tlsKeys: CertificateKeys = {
  certFile: 'tls.cert_file',
  keyFile: 'tls.key_file',
  caFile: 'tls.ca_file',
}

export const listenerUse: CertificateUse = {
  keys: { certFile: 'tls_cert_file', keyFile: 'tls_key_file', caFile: 'tls_ca_file' },
  minVersion: 'TLSv1.2',
}

export class Certificate {
  readonly #files: CertificateFiles
  readonly #use: CertificateUse
  readonly #servers = new Set<SecureServer>()
  #read: Read

  private constructor(files: CertificateFiles, use: CertificateUse, first: Read) {
    this.#files = files
    this.#use = use
    this.#read = first
  }

  /** Throws `invalid_argument` with the configuration's key and the file that is wrong. */
  static async load(files: CertificateFiles, use = listenerUse): Promise<Certificate> {
    return new Certificate(files, use, await read(files, use))
  }

  get options(): SecureContextOptions {
    return this.#read.options
  }

  /** Whether it is for this host name. */
  isFor(name: string): boolean {
    return this.#read.chain[0].checkHost(name) !== undefined
  }

  /** For connections that this side makes. */
  get context(): SecureContext {
    return this.#read.context
  }

  get validUntilMs(): number {
    return Date.parse(this.#read.chain[0].validTo)
  }

  /** From now on `reload` is also for this server. */
  serve(server: SecureServer): void {
    this.#servers.add(server)
  }

  /** Throws as `load`; then the old files count on. */
  async reload(): Promise<void> {
    this.#read = await read(this.#files, this.#use)
    for (const server of this.#servers) server.setSecureContext(this.#read.options)
  }
}

async function read(files: CertificateFiles, use: CertificateUse): Promise<Read> {
  const { keys, minVersion, secureOptions } = use
  const certName = `${keys.certFile} ${files.certFile}`
  const keyName = `${keys.keyFile} ${files.keyFile}`
  const cert = await readPem(certName, files.certFile)
  const key = await readPem(keyName, files.keyFile)
  secureContext(`${certName} holds no certificate in PEM`, { cert })
  secureContext(`${keyName} holds no private key in PEM without a password`, { key })
  secureContext(`${keyName} is not the key of ${certName}`, { cert, key })
  const chain = certificatesOf(certName, cert)
  const options: SecureContextOptions = {
    cert,
    key,
    minVersion,
    ...(secureOptions === undefined ? {} : { secureOptions }),
  }
  let authorities: readonly X509Certificate[] = []
  if (files.caFile !== undefined) {
    const read = await readAuthorities(`${keys.caFile} ${files.caFile}`, files.caFile)
    authorities = read.authorities
    options.ca = read.pem
  }
  const context = secureContext(`${certName} cannot be used`, options)
  use.check?.({ chain, authorities })
  return { options, context, chain, authorities }
}

/** Throws `invalid_argument` that begins with `name`. */
export async function readAuthorities(
  name: string,
  file: string,
): Promise<{ readonly pem: Buffer; readonly authorities: readonly X509Certificate[] }> {
  const pem = await readPem(name, file)
  const authorities = certificatesOf(name, pem)
  if (!authorities.every((one) => one.ca)) {
    throw unfit(`${name} holds a certificate that is no authority's`)
  }
  const twins = namesakes(authorities)
  if (twins !== null) {
    const way = 'give the newer one a name of its own'
    throw unfit(`${name} holds two authorities that are both called ${twins}; ${way}`)
  }
  return { pem, authorities }
}

async function readPem(name: string, file: string): Promise<Buffer> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (error) {
    throw unfit(`${name} cannot be read: ${textOf(error)}`, error)
  }
  if (bytes.length <= PEM_BYTES_MAX) return bytes
  throw unfit(`${name} has ${bytes.length} bytes; at most ${PEM_BYTES_MAX} are read`)
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** The library skips what it cannot read, which for an authority would be noticed only when connections fail. */
function certificatesOf(name: string, pem: Buffer): [X509Certificate, ...X509Certificate[]] {
  const text = pem.toString('latin1')
  const begun = text.split('-----BEGIN CERTIFICATE-----').length - 1
  const [first, ...rest] = (text.match(certificateBlock) ?? []).map((block, at) => {
    try {
      return new X509Certificate(block)
    } catch (error) {
      throw unfit(`certificate ${at + 1} in ${name} is damaged`, error)
    }
  })
  if (first === undefined) throw unfit(`${name} holds no certificate in PEM`)
  if (begun > rest.length + 1) throw unfit(`${name} holds a certificate that is cut short`)
  return [first, ...rest]
}

/**
 * A certificate names its authority, and unless keys have identifiers the library tries only the first of a name: what
 * the second signed would be refused.
 */
function namesakes(authorities: readonly X509Certificate[]): string | null {
  for (const [at, one] of authorities.entries()) {
    const twin = authorities
      .slice(0, at)
      .find((other) => other.subject === one.subject && !other.publicKey.equals(one.publicKey))
    if (twin !== undefined && !(hasKeyIdentifier(one) && hasKeyIdentifier(twin))) return one.subject
  }
  return null
}

/** 2.5.29.14 */
const keyIdentifierOid = Buffer.from([0x06, 0x03, 0x55, 0x1d, 0x0e])

function hasKeyIdentifier(certificate: X509Certificate): boolean {
  return certificate.raw.includes(keyIdentifierOid)
}

/** The library's own words are in the cause only: they may quote parts of a key. */
function secureContext(complaint: string, options: SecureContextOptions): SecureContext {
  try {
    return createSecureContext(options)
  } catch (error) {
    throw unfit(complaint, error)
  }
}

function unfit(text: string, cause?: unknown): MusterError {
  return new MusterError('invalid_argument', text, { cause })
}
