/**
 * The certificates of a whole cluster, in one folder: an authority, and for each server and for client agents a folder
 * that `tls.folder` names. Done again it renews all but the authority, under the names they have.
 */
import { randomInt, X509Certificate } from 'node:crypto'
import { chmod, readdir, readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { bearsName, holderOf } from '../lib/certificate-names.ts'
import { writeDurably } from '../lib/durable-file.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { tlsFolderFiles } from '../lib/tls-folder.ts'
import { makeFolder } from '../lib/make-folder.ts'
import {
  authorityFile,
  authorityKeyFile,
  isTaken,
  lifeOf,
  makeAuthority,
  makeLeaf,
  readAuthority,
  writePair,
  type Pem,
} from './certificates.ts'

export type Bootstrap = {
  readonly folder: string
  /** Null: that of the certificates that are there, else `global`. */
  readonly region: string | null
  /** At least as many; null: as many as there are, else 3. */
  readonly servers: number | null
  /** Names and addresses of servers' APIs, beside those that all have; kept from then on. */
  readonly hosts: readonly string[]
  readonly days: number
  readonly nowMs: number
}

export type Bootstrapped = {
  readonly authority: string
  readonly servers: readonly string[]
  readonly client: string
  readonly region: string
  readonly isRenewal: boolean
  readonly notAfter: Date
  /** The certificates end with it, before their time. */
  readonly endsWithAuthority: boolean
}

export const bootstrapServersMax = 9
export const bootstrapHostsMax = 64
const serversDefault = 3
/** Client agents and servers learn of a new authority one by one: it should be a rare event. */
const authorityDays = 3650

/** Of every agent: for programs on its machine. */
const localName = 'localhost'
const localAddress = '127.0.0.1'

const authorityFolder = 'authority'
const clientFolder = 'client'
const serverFolderPattern = /^server-[1-9]$/

type Role = 'server' | 'client'

/** A folder of one agent, and the certificate that was in it. */
type Holder = {
  readonly role: Role
  readonly path: string
  readonly before: X509Certificate | null
}

/** Throws `invalid_argument` before anything is written, when something that is there does not fit. */
export async function bootstrapTls(wanted: Bootstrap): Promise<Bootstrapped> {
  const { folder, days, nowMs } = wanted
  const holders = await holdersIn(folder, wanted.servers)
  const isRenewal = holders.some(({ before }) => before !== null)
  const region = regionOf(holders, wanted.region)
  const hosts = hostsOf(holders, wanted.hosts)
  const authority = await authorityIn(join(folder, authorityFolder), isRenewal, nowMs)
  const life = lifeOf(nowMs, days)
  const endsWithAuthority = authority.notAfter < life.notAfter
  const notAfter = endsWithAuthority ? authority.notAfter : life.notAfter
  for (const { role, path } of holders) {
    const names = namesOf(role, region, hosts)
    const pem = await makeLeaf(authority, names, { serves: true }, { ...life, notAfter })
    await writeFolder(path, authority.cert, pem)
  }
  const paths = (role: Role) => holders.flatMap((one) => (one.role === role ? [one.path] : []))
  const [client = ''] = paths('client')
  const servers = paths('server')
  const made = { authority: join(folder, authorityFolder), servers, client, region }
  return { ...made, isRenewal, notAfter, endsWithAuthority }
}

/** When the certificate in one of the folders ends; null: there is none that can be read. */
export async function endOf(folder: string): Promise<Date | null> {
  const certificate = await certificateIn(folder)
  return certificate === null ? null : new Date(certificate.validTo)
}

async function holdersIn(folder: string, servers: number | null): Promise<readonly Holder[]> {
  const names = await readdir(folder).catch(() => [])
  const found = names.filter((name) => serverFolderPattern.test(name))
  const highest = Math.max(0, ...found.map((name) => Number(name.slice(-1))))
  const count = Math.max(highest, servers ?? (highest === 0 ? serversDefault : highest))
  const server = (_: unknown, at: number) => ({ role: 'server', name: `server-${at + 1}` }) as const
  const wanted = [
    ...Array.from({ length: count }, server),
    { role: 'client', name: clientFolder } as const,
  ]
  return Promise.all(
    wanted.map(async ({ role, name }) => {
      const path = join(folder, name)
      return { role, path, before: await certificateIn(path) }
    }),
  )
}

async function certificateIn(folder: string): Promise<X509Certificate | null> {
  const path = join(folder, tlsFolderFiles.cert)
  if (!(await isTaken(path))) return null
  try {
    return new X509Certificate(await readFile(path))
  } catch (error) {
    throw unfit(`${path} is no certificate that could be renewed: ${textOf(error)}`, error)
  }
}

/** Certificates are renewed for the region they are of: those of another one would cut their holders off. */
function regionOf(holders: readonly Holder[], given: string | null): string {
  const found = holders.find(({ before }) => before !== null)
  const names = dnsNamesOf(found?.before ?? null)
  const own = names.flatMap((name) => /^(?:server|client)\.(.+)\.muster$/.exec(name)?.[1] ?? [])[0]
  const region = given ?? own ?? 'global'
  for (const { role, path, before } of holders) {
    if (before === null || bearsName(before, nameOf(role, region))) continue
    throw unfit(
      `${path} holds a certificate for ${holderOf(before)}, which is no ${role} of region ${region}; ` +
        'choose another folder with -dir, or another -region',
    )
  }
  return region
}

async function authorityIn(
  folder: string,
  isRenewal: boolean,
  nowMs: number,
): Promise<Pem & { readonly notAfter: Date }> {
  const names = { cert: authorityFile, key: authorityKeyFile }
  const paths = { cert: join(folder, names.cert), key: join(folder, names.key) }
  const [hasCert, hasKey] = [await isTaken(paths.cert), await isTaken(paths.key)]
  if (hasCert && hasKey) return readAuthority(paths.cert, paths.key, nowMs)
  if (hasCert || hasKey || isRenewal) {
    const missing = hasCert ? paths.key : paths.cert
    throw unfit(
      `${missing} is missing: put the authority of these certificates back, or choose another folder with -dir`,
    )
  }
  const life = lifeOf(nowMs, authorityDays)
  // Its successor needs another name: for a while both are trusted, and certificates name their authority by it.
  const pem = await makeAuthority(`Muster Agent CA ${randomInt(2 ** 32)}`, life)
  await privateFolder(folder)
  await writePair(folder, names, pem)
  return { ...pem, notAfter: life.notAfter }
}

function nameOf(role: Role, region: string): string {
  return `${role}.${region}.muster`
}

function namesOf(role: Role, region: string, hosts: readonly string[]) {
  const commonName = nameOf(role, region)
  return {
    commonName,
    dnsNames: [commonName, localName, ...hosts.filter((host) => isIP(host) === 0)],
    ipAddresses: [localAddress, ...hosts.filter((host) => isIP(host) !== 0)],
  }
}

/** One way to write an address, however it was given. */
function shortest(address: string): string {
  return isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address
}

/** What the certificates bear beside what every one of their role has: what they had, and what is new. */
function hostsOf(holders: readonly Holder[], given: readonly string[]): readonly string[] {
  const bad = given.find(isRoleName)
  if (bad !== undefined) {
    throw unfit(`${bad} says what an agent is, as all names below .muster do: it is no host`)
  }
  const before = holders.flatMap((holder) => [
    ...dnsNamesOf(holder.before).filter((name) => !isRoleName(name)),
    ...alternativesOf(holder.before, 'IP Address:').filter((one) => isIP(one) !== 0),
  ])
  const hosts = [...new Set([...before, ...given].map(shortest))].filter(
    (host) => host !== localName && host !== localAddress,
  )
  if (hosts.length <= bootstrapHostsMax) return hosts
  throw unfit(`a certificate would bear ${hosts.length} hosts; at most ${bootstrapHostsMax} fit`)
}

/** In a certificate for a client agent such a name could make it a server. */
function isRoleName(name: string): boolean {
  return /(^|\.)muster\.?$/i.test(name)
}

function dnsNamesOf(certificate: X509Certificate | null): readonly string[] {
  return alternativesOf(certificate, 'DNS:')
}

function alternativesOf(certificate: X509Certificate | null, kind: string): readonly string[] {
  const all = certificate?.subjectAltName?.split(', ') ?? []
  return all.filter((one) => one.startsWith(kind)).map((one) => one.slice(kind.length))
}

async function writeFolder(folder: string, ca: string, pem: Pem): Promise<void> {
  await privateFolder(folder)
  await replace(join(folder, tlsFolderFiles.ca), ca)
  await replace(join(folder, tlsFolderFiles.key), pem.key)
  await replace(join(folder, tlsFolderFiles.cert), pem.cert)
}

async function privateFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder, 0o700)
    await chmod(folder, 0o700)
  } catch (error) {
    throw unfit(`${folder}: ${textOf(error)}`, error)
  }
}

/** The whole file or the one before. */
async function replace(path: string, text: string): Promise<void> {
  try {
    await writeDurably(path, text)
  } catch (error) {
    throw unfit(`${path}: ${textOf(error)}`, error)
  }
}

function unfit(text: string, cause?: unknown): MusterError {
  return new MusterError('invalid_argument', text, { cause })
}
