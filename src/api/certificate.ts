/**
 * The certificate and key of an HTTPS listener, read from PEM files at start and again when the operator asks. New files
 * count for new connections; those that exist go on. Files that do not fit leave everything as it was.
 */
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { MusterError, textOf } from '../lib/errors.ts'

export type CertificateFiles = { readonly certFile: string; readonly keyFile: string }

/** What of an HTTPS server is needed here. */
type SecureServer = { setSecureContext(options: SecureContextOptions): void }

const minVersion = 'TLSv1.2'

/** Nobody's certificate chain is longer. */
export const PEM_BYTES_MAX = 1024 * 1024

export class ListenerCertificate {
  readonly #files: CertificateFiles
  readonly #servers = new Set<SecureServer>()
  #options: SecureContextOptions

  private constructor(files: CertificateFiles, options: SecureContextOptions) {
    this.#files = files
    this.#options = options
  }

  /** Throws `invalid_argument` with the configuration's key and the file that is wrong. */
  static async load(files: CertificateFiles): Promise<ListenerCertificate> {
    return new ListenerCertificate(files, await read(files))
  }

  get options(): SecureContextOptions {
    return this.#options
  }

  /** From now on `reload` is also for this server. */
  serve(server: SecureServer): void {
    this.#servers.add(server)
  }

  /** Throws as `load`; then the old certificate stays. */
  async reload(): Promise<void> {
    this.#options = await read(this.#files)
    for (const server of this.#servers) server.setSecureContext(this.#options)
  }
}

async function read({ certFile, keyFile }: CertificateFiles): Promise<SecureContextOptions> {
  const cert = await readPem('tls_cert_file', certFile)
  const key = await readPem('tls_key_file', keyFile)
  check(`tls_cert_file ${certFile} holds no certificate in PEM`, { cert })
  check(`tls_key_file ${keyFile} holds no private key in PEM without a password`, { key })
  check(`tls_key_file ${keyFile} is not the key of tls_cert_file ${certFile}`, { cert, key })
  return { cert, key, minVersion }
}

async function readPem(key: string, file: string): Promise<Buffer> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (error) {
    const text = `${key} ${file} cannot be read: ${textOf(error)}`
    throw new MusterError('invalid_argument', text, { cause: error })
  }
  if (bytes.length <= PEM_BYTES_MAX) return bytes
  const text = `${key} ${file} has ${bytes.length} bytes; at most ${PEM_BYTES_MAX} are read`
  throw new MusterError('invalid_argument', text)
}

/** The library's own words are in the cause only: nobody knows what of a key they may quote. */
function check(complaint: string, options: SecureContextOptions): void {
  try {
    createSecureContext(options)
  } catch (error) {
    throw new MusterError('invalid_argument', complaint, { cause: error })
  }
}
