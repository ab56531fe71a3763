/**
 * Certificates of tests, new ones each time: self-signed for listeners on loopback, and those of an authority as
 * `muster tls` makes them.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { makeAuthority, makeLeaf, type Pem } from '../../src/tls/certificates.ts'

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

export type Holder = {
  /** 'server' unless said. */
  readonly role?: 'server' | 'client' | 'cli'
  /** 'global' unless said. */
  readonly region?: string
  /** Instead of those of role and region. */
  readonly dnsNames?: readonly string[]
  /** Days from now; 0 to 1 unless said. */
  readonly days?: readonly [from: number, to: number]
}

/** Who signs the certificates of a cluster. */
export class Authority {
  readonly #pem: Pem

  private constructor(pem: Pem) {
    this.#pem = pem
  }

  static async create(name = 'Muster Agent CA'): Promise<Authority> {
    return new Authority(await makeAuthority(name, life(-60, 60)))
  }

  /** In PEM. */
  get cert(): string {
    return this.#pem.cert
  }

  issue({
    role = 'server',
    region = 'global',
    dnsNames,
    days = [0, 1],
  }: Holder = {}): Promise<Pem> {
    const commonName = `${role}.${region}.muster`
    const names = {
      commonName,
      dnsNames: dnsNames ?? [commonName, 'localhost'],
      ipAddresses: ['127.0.0.1'],
    }
    return makeLeaf(this.#pem, names, { serves: role !== 'cli' }, life(...days))
  }
}

function life(fromDays: number, toDays: number) {
  const minuteMs = 60_000
  return {
    notBefore: new Date(Date.now() - minuteMs + fromDays * dayMs),
    notAfter: new Date(Date.now() + toDays * dayMs),
  }
}

export type TlsFiles = {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

/** Writes over what is there: `ca` may be several in one. */
export async function writeTlsFiles(
  folder: string,
  name: string,
  ca: string,
  pem: Pem,
): Promise<TlsFiles> {
  const caFile = join(folder, `${name}-ca.pem`)
  const certFile = join(folder, `${name}.pem`)
  const keyFile = join(folder, `${name}-key.pem`)
  await writeFile(caFile, ca)
  await writeFile(certFile, pem.cert)
  await writeFile(keyFile, pem.key, { mode: 0o600 })
  return { caFile, certFile, keyFile }
}
