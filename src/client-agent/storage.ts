/**
 * What the file system that holds the allocations has for work, as it is when the agent starts: what is free, and what the work that
 * runs already holds of its own share. Later the share of each allocation is the servers' account, so it is not looked at again while
 * the agent runs.
 */
import type { Stats } from 'node:fs'
import { lstat, opendir, readFile, realpath, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { within } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'

const mib = 1024 * 1024
const mountsPath = '/proc/self/mounts'
/** Of `stat`, whatever the file system's own is. */
const blockBytes = 512
/** Work that runs is looked at for this long. What was not seen by then counts as taken: the node offers less. */
const lookMs = 2_000

export type Storage = {
  readonly totalBytes: number
  readonly freeBytes: number
  /** What is mounted there. */
  readonly volume: string
  readonly offeredMb: number
}

export type HeldFolder = {
  readonly path: string
  /** What the servers count for it. */
  readonly shareMb: number
}

export type StorageOptions = {
  /** Of the allocations: it may be a mount of its own. Until it is there, the folder above it is measured. */
  readonly folder: string
  /** Of allocations that have not ended. */
  readonly held: readonly HeldFolder[]
  readonly clock: Clock
  /** Of the system, unless a test has its own. */
  readonly machine?: Machine
}

type Machine = {
  /** As in `/proc/mounts`. */
  readonly mounts: () => Promise<string>
  readonly look: (path: string) => Promise<Stats>
}

const system: Machine = {
  mounts: () => readFile(mountsPath, 'utf8').catch(() => ''),
  look: (path) => lstat(path),
}

/** Rejects where the file system cannot be asked. */
export async function storageOf(options: StorageOptions): Promise<Storage> {
  const { held, clock, machine = system } = options
  const folder = await stat(options.folder).then(
    () => options.folder,
    () => dirname(options.folder),
  )
  const mounts = await machine.mounts()
  // Before what is free: what is written meanwhile counts as taken.
  const heldBytes = await heldBytesOf(held, { mounts: mountPointsIn(mounts), clock, machine })
  const { blocks, bavail, bsize } = await statfs(folder)
  const totalBytes = blocks * bsize
  const freeBytes = bavail * bsize
  const offered = Math.min(totalBytes, freeBytes + heldBytes)
  const path = await realpath(folder).catch(() => folder)
  return {
    totalBytes,
    freeBytes,
    // The folder itself where the machine does not say.
    volume: volumeIn(mounts, path) ?? folder,
    offeredMb: Math.floor(offered / mib),
  }
}

type Look = {
  readonly mounts: ReadonlySet<string>
  readonly clock: Clock
  readonly machine: Machine
}

/** What was seen until the time was over. A call that hangs then cannot be ended: no other follows once it returns. */
async function heldBytesOf(
  held: readonly HeldFolder[],
  { mounts, clock, machine }: Look,
): Promise<number> {
  const endsAtMs = clock.monotonicMs() + lookMs
  let bytes = 0
  const walk = async () => {
    for (const { path, shareMb } of held) {
      let left = shareMb * mib
      for await (const size of sizesIn(path, { mounts, clock, machine }, endsAtMs)) {
        const counted = Math.min(left, size)
        bytes += counted
        left -= counted
        if (left === 0) break
      }
    }
  }
  await within(walk(), clock, lookMs)
  return bytes
}

/** In bytes, of each file. What is mounted within is not even looked at: it may not answer, and is no part of this file system. */
async function* sizesIn(
  folder: string,
  { mounts, clock, machine }: Look,
  endsAtMs: number,
): AsyncGenerator<number> {
  const isOver = () => clock.monotonicMs() >= endsAtMs
  if (isOver()) return
  // Mounts are known by their real paths.
  const root = await realpath(dirname(folder)).then(
    (parent) => join(parent, basename(folder)),
    () => folder,
  )
  if (mounts.has(root)) return
  const device = (await machine.look(root).catch(() => null))?.dev
  const folders = device === undefined ? [] : [root]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    if (isOver()) return
    try {
      for await (const { name } of await opendir(next)) {
        const path = join(next, name)
        if (mounts.has(path)) continue
        const found = await machine.look(path).catch(() => null)
        if (isOver()) return
        if (found === null || found.dev !== device) continue
        if (found.isDirectory()) folders.push(path)
        else yield (found.blocks * blockBytes) / found.nlink
      }
    } catch {
      // It went meanwhile, or is not to be read: what it holds counts as taken.
    }
  }
}

/** By the lines of `/proc/mounts`, of which the last of the longest paths counts. */
export function volumeIn(mounts: string, path: string): string | null {
  let best: Mount | null = null
  for (const mount of mountsIn(mounts)) {
    const { point } = mount
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`)
    if (isAbove && (best === null || point.length >= best.point.length)) best = mount
  }
  return best?.source ?? null
}

/** Paths, by the lines of `/proc/mounts`. */
export function mountPointsIn(mounts: string): ReadonlySet<string> {
  return new Set(mountsIn(mounts).map(({ point }) => point))
}

type Mount = { readonly source: string; readonly point: string }

function mountsIn(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [source = '', point = ''] = line.split(' ').map(unescaped)
    return source === '' || point === '' ? [] : [{ source, point }]
  })
}

/** Spaces and the like are in octal. */
function unescaped(word: string): string {
  return word.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}
