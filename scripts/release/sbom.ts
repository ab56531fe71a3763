/**
 * What a release is made of, as CycloneDX 1.6: every package that runs the program, from the lock file, with its hash and what
 * it depends on.
 */
import { version, description, license, platforms } from './project.ts'

type LockEntry = {
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly os?: string | readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
export type LockFile = { readonly packages: Readonly<Record<string, LockEntry>> }

/** Of hashes in base64 a software bill wants hexadecimal digits. */
const algorithms: Readonly<Record<string, string>> = {
  sha512: 'SHA-512',
  sha384: 'SHA-384',
  sha256: 'SHA-256',
  sha1: 'SHA-1',
}

/** Names that SPDX knows; anything else is given as a name. */
const spdx = /^[A-Za-z0-9.+-]+$/

/** `serial`: a UUID of this document. */
export function softwareBill(
  lock: LockFile,
  { serial, time }: { readonly serial: string; readonly time: string },
): Readonly<Record<string, unknown>> {
  const shipped = Object.entries(lock.packages).filter(
    ([path, entry]) => path !== '' && entry.dev !== true && runsHere(entry),
  )
  const refs = new Map(shipped.map(([path, entry]) => [path, urlOf(path, entry)]))
  const components = new Map(
    shipped.map(([path, entry]) => [urlOf(path, entry), componentOf(path, entry)]),
  )
  const own = `pkg:generic/muster@${version}`
  const dependenciesOf = (path: string, entry: LockEntry): readonly string[] => {
    const names = Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
    const found = names.flatMap((name) => refs.get(resolved(lock, path, name)) ?? [])
    return [...new Set(found)].sort()
  }
  const main = lock.packages[''] ?? {}
  const dependencies = new Map([[own, dependenciesOf('', main)]])
  for (const [path, entry] of shipped) {
    const ref = urlOf(path, entry)
    const known = dependencies.get(ref) ?? []
    dependencies.set(ref, [...new Set([...known, ...dependenciesOf(path, entry)])].sort())
  }
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${serial}`,
    version: 1,
    metadata: {
      timestamp: time,
      component: {
        type: 'application',
        'bom-ref': own,
        name: 'muster',
        version,
        description,
        licenses: licensesOf(license),
        purl: own,
      },
    },
    components: [...components.values()],
    dependencies: [...dependencies].map(([ref, dependsOn]) => ({ ref, dependsOn })),
  }
}

/** Packages of other systems are in the lock file too. */
function runsHere({ os }: LockEntry): boolean {
  return os === undefined || [os].flat().includes('linux')
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** A package URL; the scope's @ is percent-encoded in it. */
function urlOf(path: string, entry: LockEntry): string {
  return `pkg:npm/${nameOf(path).replace('@', '%40')}@${entry.version ?? ''}`
}

/** As Node.js looks for it: below the package, then below each folder above. */
function resolved(lock: LockFile, path: string, name: string): string {
  let folder = path
  for (;;) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (candidate in lock.packages || folder === '') return candidate
    const end = folder.lastIndexOf('/node_modules/')
    folder = end < 0 ? '' : folder.slice(0, end)
  }
}

function componentOf(path: string, entry: LockEntry): Readonly<Record<string, unknown>> {
  const full = nameOf(path)
  const [group, name] = full.startsWith('@') ? full.split('/') : [undefined, full]
  return {
    type: platforms.some(({ arch }) => full === `node-linux-${arch}`) ? 'platform' : 'library',
    'bom-ref': urlOf(path, entry),
    ...(group !== undefined && { group }),
    name,
    version: entry.version,
    ...(entry.license !== undefined && { licenses: licensesOf(entry.license) }),
    purl: urlOf(path, entry),
    ...(entry.integrity !== undefined && { hashes: hashesOf(entry.integrity) }),
  }
}

function licensesOf(text: string): readonly unknown[] {
  if (spdx.test(text)) return [{ license: { id: text } }]
  return [{ expression: text }]
}

function hashesOf(integrity: string): readonly unknown[] {
  return integrity.split(' ').flatMap((part) => {
    const end = part.indexOf('-')
    const alg = algorithms[part.slice(0, end)]
    if (alg === undefined) return []
    return [{ alg, content: Buffer.from(part.slice(end + 1), 'base64').toString('hex') }]
  })
}
