/**
 * What the data folder's file system has for work, as it is when the agent starts: what is free, and what the work that runs already
 * holds of its own share. Later the share of each allocation is the servers' account, so it is not looked at again while the agent runs.
 */
import { lstat, opendir, readFile, realpath, statfs } from 'node:fs/promises'
import { join } from 'node:path'

const mib = 1024 * 1024
const mountsPath = '/proc/self/mounts'
/** Of `stat`, whatever the file system's own is. */
const blockBytes = 512
/** What more there is of them counts as taken: the node offers less. */
const entriesMax = 200_000

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

/** Rejects where the file system cannot be asked. `held`: of allocations that have not ended. */
export async function storageOf(folder: string, held: readonly HeldFolder[]): Promise<Storage> {
  const budget = { entries: entriesMax }
  let heldBytes = 0
  for (const { path, shareMb } of held) heldBytes += await usedBytes(path, shareMb * mib, budget)
  const { blocks, bavail, bsize } = await statfs(folder)
  const totalBytes = blocks * bsize
  const freeBytes = bavail * bsize
  const offered = Math.min(totalBytes, freeBytes + heldBytes)
  return {
    totalBytes,
    freeBytes,
    volume: await volumeOf(folder),
    offeredMb: Math.floor(offered / mib),
  }
}

/** At most `bytesMax`, and what is mounted within is not counted. */
async function usedBytes(
  folder: string,
  bytesMax: number,
  budget: { entries: number },
): Promise<number> {
  const root = await lstat(folder).catch(() => null)
  if (root === null) return 0
  let bytes = 0
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    try {
      for await (const { name } of await opendir(next)) {
        if (bytes >= bytesMax || budget.entries === 0) return Math.min(bytes, bytesMax)
        budget.entries -= 1
        const path = join(next, name)
        const found = await lstat(path).catch(() => null)
        if (found === null || found.dev !== root.dev) continue
        if (found.isDirectory()) folders.push(path)
        else bytes += (found.blocks * blockBytes) / found.nlink
      }
    } catch {
      // It went meanwhile, or is not to be read: what it holds counts as taken.
    }
  }
  return Math.min(bytes, bytesMax)
}

/** The folder itself where the machine does not say. */
async function volumeOf(folder: string): Promise<string> {
  const path = await realpath(folder).catch(() => folder)
  const text = await readFile(mountsPath, 'utf8').catch(() => '')
  return volumeIn(text, path) ?? folder
}

/** By the lines of `/proc/mounts`, of which the last of the longest paths counts. */
export function volumeIn(mounts: string, path: string): string | null {
  let best: { readonly point: string; readonly source: string } | null = null
  for (const line of mounts.split('\n')) {
    const [source = '', point = ''] = line.split(' ').map(unescaped)
    const isAbove = point === '/' || path === point || path.startsWith(`${point}/`)
    if (source === '' || point === '' || !isAbove) continue
    if (best === null || point.length >= best.point.length) best = { point, source }
  }
  return best?.source ?? null
}

/** Spaces and the like are in octal. */
function unescaped(word: string): string {
  return word.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )
}
