/** Certificates of a cluster's own authority: EC P-256 with SHA-256, as files that their owner alone may read. */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { lstat, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { MusterError, textOf } from '../lib/errors.ts'
import { makeFolder } from '../lib/make-folder.ts'

const dayMs = 24 * 60 * 60 * 1000
/** Clocks of machines that begin to talk to each other may differ. */
const clockSkewMs = 5 * 60 * 1000

export const authorityFile = 'muster-agent-ca.pem'
export const authorityKeyFile = 'muster-agent-ca-key.pem'

export type Pem = { readonly cert: string; readonly key: string }

export type Life = { readonly notBefore: Date; readonly notAfter: Date }

export function lifeOf(nowMs: number, days: number): Life {
  return { notBefore: new Date(nowMs - clockSkewMs), notAfter: new Date(nowMs + days * dayMs) }
}

const common = { keyType: 'ec', curve: 'P-256', algorithm: 'sha256' } as const

export async function makeAuthority(commonName: string, life: Life): Promise<Pem> {
  // Its parts take longer to load than all other commands together.
  const { generate } = await import('selfsigned')
  const made = await generate([{ name: 'commonName', value: commonName }], {
    ...common,
    notBeforeDate: life.notBefore,
    notAfterDate: life.notAfter,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
  return { cert: pemText(made.cert), key: pemText(made.private) }
}

export type LeafNames = {
  /** Also the first of the DNS names. */
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
}

/** Whether it may stand for a server in a handshake; every one of them may stand for a client. */
export type LeafUse = { readonly serves: boolean }

export async function makeLeaf(
  authority: Pem,
  names: LeafNames,
  use: LeafUse,
  life: Life,
): Promise<Pem> {
  const { generate } = await import('selfsigned')
  const made = await generate([{ name: 'commonName', value: names.commonName }], {
    ...common,
    ca: authority,
    notBeforeDate: life.notBefore,
    notAfterDate: life.notAfter,
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: use.serves, clientAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          ...names.dnsNames.map((value) => ({ type: 2, value }) as const),
          ...names.ipAddresses.map((ip) => ({ type: 7, ip }) as const),
        ],
      },
    ],
  })
  return { cert: pemText(made.cert), key: pemText(made.private) }
}

function pemText(pem: string): string {
  return `${pem.trimEnd()}\n`
}

/** An authority from its two files, checked to be one that can sign now. */
export async function readAuthority(
  certFile: string,
  keyFile: string,
  nowMs: number,
): Promise<Pem & { readonly notAfter: Date }> {
  const [cert, key] = await Promise.all([readPem(certFile), readPem(keyFile)])
  const certificate = parsed(certFile, 'certificate', () => new X509Certificate(cert))
  const privateKey = parsed(keyFile, 'private key', () => createPrivateKey(key))
  const problem = problemOf(certificate, privateKey, nowMs)
  if (problem !== null) throw new MusterError('invalid_argument', `${certFile}: ${problem}`)
  return { cert, key, notAfter: new Date(certificate.validTo) }
}

function problemOf(certificate: X509Certificate, key: KeyObject, nowMs: number): string | null {
  if (!certificate.ca) return 'this is no authority: it may not sign certificates'
  if (!certificate.checkPrivateKey(key)) return 'the private key is not that of this certificate'
  if (Date.parse(certificate.validTo) <= nowMs) return `it expired on ${certificate.validTo}`
  if (key.asymmetricKeyType !== 'ec') return 'only authorities with EC keys can sign here'
  return null
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new MusterError(
      'invalid_argument',
      `${path}: ${textOf(error)}; 'muster tls ca create' makes an authority`,
      { cause: error },
    )
  }
}

function parsed<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new MusterError('invalid_argument', `${path} holds no ${what} in PEM`, { cause: error })
  }
}

/** Writes certificate and key; when one of the names is taken, nothing is written. */
export async function writePair(
  folder: string,
  names: { readonly cert: string; readonly key: string },
  pem: Pem,
): Promise<{ readonly cert: string; readonly key: string }> {
  const paths = { cert: join(folder, names.cert), key: join(folder, names.key) }
  await refuseTaken(paths)
  await makeFolder(folder).catch((error: unknown) => {
    const text = `${folder} cannot be made: ${textOf(error)}; name another folder`
    throw new MusterError('unavailable', text, { cause: error })
  })
  await writeNew(paths.key, pem.key)
  try {
    await writeNew(paths.cert, pem.cert)
  } catch (error) {
    await rm(paths.key, { force: true })
    throw error
  }
  return paths
}

export async function refuseTaken(paths: {
  readonly cert: string
  readonly key: string
}): Promise<void> {
  for (const path of [paths.cert, paths.key]) {
    if (await isTaken(path)) throw alreadyThere(path)
  }
}

export async function isTaken(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

async function writeNew(path: string, text: string): Promise<void> {
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
      throw alreadyThere(path)
    }
    throw new MusterError('invalid_argument', `${path}: ${textOf(error)}`, { cause: error })
  }
}

function alreadyThere(path: string): MusterError {
  return new MusterError(
    'invalid_argument',
    `${path} exists and is not overwritten; move it away, or choose another folder with -dir`,
  )
}
