/** Certificates for listeners of tests: self-signed, for loopback, new ones each time. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generate } from 'selfsigned'

export type CertificatePair = {
  readonly certFile: string
  readonly keyFile: string
  /** Writes a new pair over the old one; resolves to its certificate, for whoever is to trust it. */
  renew(): Promise<string>
}

const dayMs = 86_400_000

/** No files yet: `renew` makes the first ones too. */
export function certificatePair(folder: string, name = 'server'): CertificatePair {
  const certFile = join(folder, `${name}.pem`)
  const keyFile = join(folder, `${name}-key.pem`)
  return {
    certFile,
    keyFile,
    async renew() {
      const pair = await generate([{ name: 'commonName', value: 'localhost' }], {
        keyType: 'ec',
        algorithm: 'sha256',
        notAfterDate: new Date(Date.now() + dayMs),
        extensions: [
          {
            name: 'subjectAltName',
            altNames: [
              { type: 2, value: 'localhost' },
              { type: 7, ip: '127.0.0.1' },
            ],
          },
        ],
      })
      await writeFile(certFile, pair.cert)
      await writeFile(keyFile, pair.private, { mode: 0o600 })
      return pair.cert
    },
  }
}
