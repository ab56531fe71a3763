/**
 * The files of an allocation, as others may see them. Whatever a path goes through, what is opened must be in the allocation's
 * folder, and in no folder of secrets: tasks make links there as they like, also while they are looked at.
 *
 * So a path is resolved, what it leads to is opened without following a link, and the system is asked what was opened.
 */
import { constants, type Stats } from 'node:fs'
import { lstat, open, readdir, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { runFolderName } from '../../domains/jobs/task-model.ts'
import type { FileChunk, FileInfo, FileToRead } from '../../domains/tasks/services.ts'
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError, systemCodeOf } from '../../lib/errors.ts'
import { secretsName } from './task-folders.ts'

/** Of one folder. */
const entriesMax = 10_000
const chunkBytesMax = 32 * 1_024
/** Between two looks for more. */
const pollMs = 200

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants

export async function listFiles(root: string, path: string): Promise<readonly FileInfo[]> {
  const folder = await openWithin(root, path, O_DIRECTORY)
  try {
    const here = `/proc/self/fd/${folder.fd}`
    const names = await readdir(here)
    if (names.length > entriesMax) {
      throw new MusterError('too_large', `the folder has over ${entriesMax} entries`)
    }
    const isRoot = (await readlink(here)) === (await realpath(root))
    const shown = names.filter((name) => !(isRoot && name === runFolderName)).sort()
    const infos: FileInfo[] = []
    for (const name of shown) {
      const stats = await lstat(join(here, name)).catch(() => null)
      if (stats !== null) infos.push(infoOf(name, stats))
    }
    return infos
  } finally {
    await folder.close()
  }
}

export async function statFile(root: string, path: string): Promise<FileInfo> {
  const file = await openWithin(root, path, 0)
  try {
    const name = path.split('/').findLast((part) => part !== '') ?? '/'
    return infoOf(name, await file.stat())
  } finally {
    await file.close()
  }
}

/** Rejects where it cannot be read; what it resolves with is to be read, or its `return` called. */
export async function readFileOf(
  root: string,
  { path, origin, offset, limit, follow }: FileToRead,
  clock: Clock,
  signal: AbortSignal,
): Promise<AsyncIterable<FileChunk>> {
  const file = await openWithin(root, path, 0)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new MusterError('invalid_argument', `${path} is no file`)
    const start = origin === 'start' ? offset : Math.max(0, stats.size - offset)
    return chunksOf({ file, path, start, limit, follow }, clock, signal)
  } catch (error) {
    await file.close()
    throw error
  }
}

type Opened = {
  readonly file: FileHandle
  readonly path: string
  readonly start: number
  readonly limit: number | null
  readonly follow: boolean
}

/** No generator: one that is never begun would leave the file open. */
function chunksOf(
  { file, path, start, limit, follow }: Opened,
  clock: Clock,
  signal: AbortSignal,
): AsyncIterableIterator<FileChunk> {
  let at = start
  let left = limit ?? Infinity
  const end = async (): Promise<IteratorResult<FileChunk>> => {
    left = 0
    await file.close()
    return { done: true, value: undefined }
  }
  const chunks: AsyncIterableIterator<FileChunk> = {
    [Symbol.asyncIterator]: () => chunks,
    return: end,
    async next() {
      while (!signal.aborted && left > 0) {
        const buffer = Buffer.alloc(Math.min(chunkBytesMax, left))
        const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
        if (bytesRead > 0) {
          const chunk = { file: path, offset: at, data: buffer.subarray(0, bytesRead) }
          at += bytesRead
          left -= bytesRead
          return { done: false, value: chunk }
        }
        if (!follow) break
        const { size, nlink } = await file.stat()
        if (nlink === 0) return { done: false, value: ending('file deleted') }
        if (size < at) {
          at = 0
          const data = new Uint8Array(0)
          return { done: false, value: { file: path, offset: 0, data, event: 'file truncated' } }
        }
        await delay(clock, pollMs, signal)
      }
      return end()
    },
  }
  const ending = (event: FileChunk['event'] & string): FileChunk => {
    left = 0
    return { file: path, offset: at, data: new Uint8Array(0), event }
  }
  return chunks
}

/** `path`: from the allocation's folder, with or without a slash before it. */
async function openWithin(root: string, path: string, flags: number): Promise<FileHandle> {
  if (path.includes('\0')) throw new MusterError('invalid_argument', 'a path has no NUL in it')
  if (path.split('/').includes('..')) {
    throw new MusterError('permission_denied', `Path escapes the alloc directory: ${path}`)
  }
  const whole = await realpath(root).catch((error: unknown) => failed(error, path))
  // Also what is not there is not told of secrets.
  check(whole, join(whole, path), path)
  const resolved = await realpath(join(whole, path)).catch((error: unknown) => failed(error, path))
  check(whole, resolved, path)
  const wanted = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | flags
  await refuseStrangeKinds(resolved, path)
  const file = await open(resolved, wanted).catch((error: unknown) => failed(error, path))
  try {
    check(whole, await readlink(`/proc/self/fd/${file.fd}`), path)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** To open a device may do something. */
async function refuseStrangeKinds(resolved: string, path: string): Promise<void> {
  const stats = await lstat(resolved).catch((error: unknown) => failed(error, path))
  if (stats.isFile() || stats.isDirectory()) return
  throw new MusterError('invalid_argument', `${path} is neither a file nor a folder`)
}

function check(root: string, resolved: string, path: string): void {
  // Of what was removed since it was opened.
  const parts = relative(root, resolved.replace(/ \(deleted\)$/, '')).split(sep)
  if (parts[0] === '..') {
    throw new MusterError('permission_denied', `Path escapes the alloc directory: ${path}`)
  }
  if (parts[0] === runFolderName || parts[1] === secretsName) {
    throw new MusterError('permission_denied', `Reading secret file prohibited: ${path}`)
  }
}

function failed(error: unknown, path: string): never {
  switch (systemCodeOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ELOOP':
      throw new MusterError('not_found', `there is no ${path} of this kind in the allocation`)
    case 'ENAMETOOLONG':
      throw new MusterError('invalid_argument', 'the path is too long')
    case 'EACCES':
    case 'EPERM':
      throw new MusterError('permission_denied', `the agent may not read ${path}`)
    default:
      throw error
  }
}

function infoOf(name: string, stats: Stats): FileInfo {
  return {
    name,
    isDir: stats.isDirectory(),
    size: stats.size,
    mode: modeText(stats),
    modifiedMs: Math.trunc(stats.mtimeMs),
  }
}

/** As Go writes it: `drwxr-xr-x`, `-rw-r--r--`, `Lrwxrwxrwx`. */
function modeText(stats: Stats): string {
  const kind = stats.isDirectory()
    ? 'd'
    : stats.isSymbolicLink()
      ? 'L'
      : stats.isFIFO()
        ? 'p'
        : stats.isSocket()
          ? 'S'
          : stats.isFile()
            ? '-'
            : 'D'
  const bits = 'rwxrwxrwx'
    .split('')
    .map((letter, at) => ((stats.mode & (0o400 >> at)) === 0 ? '-' : letter))
  return `${kind}${bits.join('')}`
}
