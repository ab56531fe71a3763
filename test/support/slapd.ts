/**
 * A real directory for tests: OpenLDAP's slapd with a folder and ports of its own, filled before it starts. Where slapd is not
 * installed the tests that need it say so.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { Authority, writeTlsFiles } from './certificates.ts'
import { eventuallyTrue } from './eventually.ts'
import { freePorts } from './free-ports.ts'

const run = promisify(execFile)
const program = '/usr/sbin/slapd'
const schemas = ['core', 'cosine', 'inetorgperson', 'nis']

export const serviceDn = 'cn=service,dc=test'
export const servicePassword = 'service-password'

/** Says aloud that tests are left out. */
export function slapdIsThere(t: Test): boolean {
  const there = existsSync(program)
  if (!there) t.comment('slapd is not installed (Debian: slapd, ldap-utils): nothing was checked')
  return there
}

export type Slapd = {
  readonly url: string
  readonly tlsUrl: string
  /** Of the authority that signed its certificate. */
  readonly ca: string
  readonly authority: Authority
  /** Null: it does not run. */
  pid(): number | null
  /** A kill that it does not notice. */
  kill(): Promise<void>
  pause(): void
  resume(): void
  start(): Promise<void>
}

export type SlapdOptions = {
  /** Beside the service account and the two containers. */
  readonly ldif?: string
  /** Entries that one search returns without paging. Default 500. */
  readonly sizeLimit?: number
  /** Asks clients for a certificate. */
  readonly wantsClientCertificate?: boolean
}

type LdifValue = string | Buffer

/** Values that LDIF cannot hold as they are go in base64. */
export function ldifEntry(
  dn: string,
  attributes: Readonly<Record<string, LdifValue | readonly LdifValue[]>>,
): string {
  const line = (name: string, value: LdifValue): string =>
    `${name}:: ${Buffer.from(value).toString('base64')}`
  const lines = Object.entries(attributes).flatMap(([name, values]) =>
    [values].flat().map((value) => line(name, value)),
  )
  return [line('dn', dn), ...lines, '', ''].join('\n')
}

export type Person = {
  readonly uid: string
  /** As it stands in a name, escaped. Default: `uid`. */
  readonly rdn?: string
  readonly password: string
  readonly more?: Readonly<Record<string, LdifValue | readonly LdifValue[]>>
}

export function personDn({ uid, rdn = uid }: Pick<Person, 'uid' | 'rdn'>): string {
  return `uid=${rdn},ou=people,dc=test`
}

export function person(who: Person): string {
  return ldifEntry(personDn(who), {
    objectClass: ['inetOrgPerson', 'principal'],
    uid: who.uid,
    cn: who.uid,
    sn: who.uid,
    userPassword: who.password,
    ...who.more,
  })
}

export function groupDn(name: string): string {
  return `cn=${name},ou=groups,dc=test`
}

export function group(name: string, members: readonly string[]): string {
  return ldifEntry(groupDn(name), { objectClass: 'groupOfNames', cn: name, member: members })
}

const base = [
  ldifEntry('dc=test', { objectClass: ['dcObject', 'organization'], dc: 'test', o: 'test' }),
  ldifEntry('ou=people,dc=test', { objectClass: 'organizationalUnit', ou: 'people' }),
  ldifEntry('ou=groups,dc=test', { objectClass: 'organizationalUnit', ou: 'groups' }),
  ldifEntry(serviceDn, {
    objectClass: ['organizationalRole', 'simpleSecurityObject'],
    cn: 'service',
    userPassword: servicePassword,
  }),
].join('')

/** Stopped, and its folder removed, at the end of the test. */
export async function startSlapd(
  t: { teardown(close: () => unknown): unknown },
  options: SlapdOptions = {},
): Promise<Slapd> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-slapd-'))
  const [port = 0, tlsPort = 0] = await freePorts(2)
  const authority = await Authority.create('Directory CA')
  const files = await writeTlsFiles(folder, 'slapd', authority.cert, await authority.issue())
  await mkdir(join(folder, 'data'))
  const config = join(folder, 'slapd.conf')
  await writeFile(config, configText(folder, files, options))
  const ldif = join(folder, 'first.ldif')
  await writeFile(ldif, base + (options.ldif ?? ''))
  await run(program, ['-T', 'add', '-q', '-f', config, '-l', ldif])

  const url = `ldap://127.0.0.1:${port}`
  const tlsUrl = `ldaps://127.0.0.1:${tlsPort}`
  let child: ChildProcess | null = null
  const start = async (): Promise<void> => {
    child = spawn(program, ['-d', '0', '-f', config, '-h', `${url} ${tlsUrl}`], { stdio: 'ignore' })
    await eventuallyTrue('slapd listens', () => listens(port))
  }
  const kill = async (): Promise<void> => {
    const running = child
    child = null
    if (running === null || running.exitCode !== null) return
    running.kill('SIGKILL')
    await once(running, 'exit')
  }
  t.teardown(async () => {
    await kill()
    await rm(folder, { recursive: true, force: true })
  })
  await start()
  return {
    url,
    tlsUrl,
    ca: authority.cert,
    authority,
    pid: () => child?.pid ?? null,
    kill,
    start,
    pause: () => child?.kill('SIGSTOP'),
    resume: () => child?.kill('SIGCONT'),
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

type TlsFiles = { readonly caFile: string; readonly certFile: string; readonly keyFile: string }

function configText(folder: string, tls: TlsFiles, options: SlapdOptions): string {
  const { sizeLimit = 500, wantsClientCertificate = false } = options
  return [
    ...schemas.map((name) => `include /etc/ldap/schema/${name}.schema`),
    // What Active Directory has and the schemas above lack.
    "attributetype ( 1.3.6.1.4.1.99999.1 NAME 'userPrincipalName' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )",
    "attributetype ( 1.3.6.1.4.1.99999.2 NAME 'sAMAccountName' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )",
    "attributetype ( 1.3.6.1.4.1.99999.3 NAME 'tokenGroups' SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )",
    "attributetype ( 1.3.6.1.4.1.99999.5 NAME 'objectSid' EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 SINGLE-VALUE )",
    "objectclass ( 1.3.6.1.4.1.99999.4 NAME 'principal' AUXILIARY MAY ( userPrincipalName $ sAMAccountName $ tokenGroups $ objectSid ) )",
    'modulepath /usr/lib/ldap',
    'moduleload back_mdb',
    'moduleload memberof',
    `pidfile ${folder}/slapd.pid`,
    `argsfile ${folder}/slapd.args`,
    `TLSCACertificateFile ${tls.caFile}`,
    `TLSCertificateFile ${tls.certFile}`,
    `TLSCertificateKeyFile ${tls.keyFile}`,
    `TLSVerifyClient ${wantsClientCertificate ? 'demand' : 'never'}`,
    'threads 8',
    // As Debian sets it up; otherwise each operation is told to a system log, which costs as much as the operation.
    'loglevel 0',
    'database mdb',
    'suffix dc=test',
    `directory ${folder}/data`,
    'maxsize 268435456',
    'dbnosync',
    'index objectClass,uid,cn,member,uniqueMember,memberUid,userPrincipalName,sAMAccountName eq',
    `limits * size.soft=${sizeLimit} size.hard=${sizeLimit} size.prtotal=unlimited`,
    'access to attrs=userPassword by self =xw by anonymous auth by * none',
    'access to * by * read',
    'overlay memberof',
    '',
  ].join('\n')
}
