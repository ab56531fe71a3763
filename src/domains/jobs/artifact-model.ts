/** How an artifact is asked for: where it is, what it has to be, and what is made of it. Pure; agents read it too. */
import { invalid } from '../../lib/errors.ts'
import type { Artifact } from './task-model.ts'

export const artifactModes = ['any', 'file', 'dir'] as const

/** Digits of a sum, in hex. */
const sums: ReadonlyMap<string, number> = new Map([
  ['md5', 32],
  ['sha1', 40],
  ['sha256', 64],
  ['sha512', 128],
])

const packings = {
  'tar.gz': ['tar', 'gzip'],
  tgz: ['tar', 'gzip'],
  'tar.zst': ['tar', 'zstd'],
  tar: ['tar', null],
  zip: ['zip', null],
  gz: [null, 'gzip'],
  zst: [null, 'zstd'],
} as const

/** An archive of files, and how its bytes are packed. */
export type Packing = {
  readonly archive: 'tar' | 'zip' | null
  readonly compression: 'gzip' | 'zstd' | null
}

export type Checksum = { readonly algorithm: string; readonly sum: string }

export type ArtifactPlan = {
  readonly source: URL
  /** What it is called where its place is a folder. */
  readonly fileName: string
  readonly checksum: Checksum | null
  /** Null: it stays as it is. */
  readonly packing: Packing | null
}

type Asked = Pick<Artifact, 'GetterSource' | 'GetterOptions' | 'GetterMode'>

/** Throws `invalid_argument`: what is wrong, without a subject. */
export function planOfArtifact({ GetterSource, GetterOptions, GetterMode }: Asked): ArtifactPlan {
  const source = sourceOf(GetterSource)
  // As the getter of Nomad takes them: with the source, or beside it.
  const options = new Map(Object.entries(GetterOptions))
  for (const name of ['checksum', 'archive']) {
    const inSource = source.searchParams.get(name)
    if (inSource === null) continue
    source.searchParams.delete(name)
    options.set(name, inSource)
  }
  const strange = [...options.keys()].find((name) => name !== 'checksum' && name !== 'archive')
  if (strange !== undefined) {
    throw invalid(`has no option ${strange}: there are checksum and archive`)
  }
  const fileName = decodeURIComponent(source.pathname.slice(source.pathname.lastIndexOf('/') + 1))
  const packing = packingOf(fileName, options.get('archive'))
  if (GetterMode === 'file' && packing !== null && packing.archive !== null) {
    throw invalid(
      `is an archive of many files: set mode to any or dir, or the option archive = "false"`,
    )
  }
  if (GetterMode === 'dir' && packing?.archive == null && source.protocol !== 'file:') {
    throw invalid('is no archive that can be told by its name: set the option archive')
  }
  return { source, fileName, checksum: checksumOf(options.get('checksum')), packing }
}

function sourceOf(text: string): URL {
  const forced = /^(?:http|https|file)::(.*)$/.exec(text)?.[1] ?? text
  const whole = forced.startsWith('/') ? `file://${forced}` : forced
  const url = URL.canParse(whole) ? new URL(whole) : null
  if (url !== null && ['http:', 'https:', 'file:'].includes(url.protocol)) {
    if (url.protocol === 'file:' && url.host !== '')
      throw invalid('names a host: write file:///path')
    return url
  }
  throw invalid('is not served: give http://, https://, or file:// with an absolute path')
}

function packingOf(fileName: string, archive: string | undefined): Packing | null {
  if (archive === 'false') return null
  if (archive === undefined || archive === 'true') {
    const ending = Object.keys(packings).find((one) => fileName.toLowerCase().endsWith(`.${one}`))
    return packingNamed(ending)
  }
  const known = packingNamed(archive)
  if (known !== null) return known
  const names = Object.keys(packings).join(', ')
  throw invalid(`is packed as ${JSON.stringify(archive)}, which is not served: there are ${names}`)
}

function packingNamed(name: string | undefined): Packing | null {
  const found = Object.entries(packings).find(([known]) => known === name)?.[1]
  return found === undefined ? null : { archive: found[0], compression: found[1] }
}

function checksumOf(text: string | undefined): Checksum | null {
  if (text === undefined) return null
  const [, algorithm = '', sum = ''] = /^([a-z0-9]+):([0-9a-fA-F]+)$/.exec(text) ?? []
  if (sums.get(algorithm) === sum.length) return { algorithm, sum: sum.toLowerCase() }
  throw invalid(`needs a checksum as sha256:HEX; there are ${[...sums.keys()].join(', ')}`)
}
