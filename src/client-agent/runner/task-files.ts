/**
 * Files that the agent puts into folders of tasks, and reads there. Tasks make links in their folders as they like, also while the
 * agent works: so each folder on the way is opened within the one before, and no link is followed.
 */
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { MusterError, systemCodeOf } from '../../lib/errors.ts'
import type { TaskFolders } from './task-folders.ts'

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants
const folderMode = 0o755
const folderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW

/** A place in the task's folder, or in the one that the tasks of the allocation share. */
export type TaskPlace = { readonly root: string; readonly parts: readonly string[] }

/** `path`: from the task's folder; `what` begins an error. Throws `invalid_argument` for a place elsewhere. */
export function placeOf(folders: TaskFolders, path: string, what: string): TaskPlace {
  // What the environment names is absolute.
  const whole = [folders.task, folders.shared].some((root) => isBelow(root, path))
    ? path
    : join(folders.task, path)
  const root = [folders.task, folders.shared].find((one) => isBelow(one, whole))
  if (root === undefined || path.includes('\0')) {
    const text = `${what} must be below the folder of the task, or below ../alloc`
    throw new MusterError('invalid_argument', text)
  }
  const parts = relative(root, whole).split('/')
  return { root, parts: parts.filter((part) => part !== '' && part !== '.') }
}

function isBelow(root: string, path: string): boolean {
  if (!path.startsWith('/')) return false
  const way = relative(root, join(path))
  return way !== '..' && !way.startsWith('../')
}

/** The caller closes it. Throws `permission_denied` where a link is on the way. */
export async function openFolder({ root, parts }: TaskPlace, makes: boolean): Promise<FileHandle> {
  let folder = await open(root, folderFlags)
  for (const part of parts) {
    const below = within(folder, part)
    try {
      const isNew = makes && (await isMade(below))
      const next = await open(below, folderFlags)
      if (isNew) await giveToOwnerOf(folder, next)
      await folder.close()
      folder = next
    } catch (error) {
      await folder.close()
      throw strange(error, part)
    }
  }
  return folder
}

/** As the system is asked of what is in an open folder. */
export function within(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`
}

/** As if the task had made it there: tasks may have another user than the agent. */
export async function giveToOwnerOf(folder: FileHandle, made: FileHandle): Promise<void> {
  const [of, now] = await Promise.all([folder.stat(), made.stat()])
  if (of.uid !== now.uid || of.gid !== now.gid) await made.chown(of.uid, of.gid)
}

/** Null: there is none. */
export async function readTaskFile(place: TaskPlace, bytesMax: number): Promise<string | null> {
  return (await bytesOf(place, bytesMax))?.toString() ?? null
}

async function bytesOf(place: TaskPlace, bytesMax: number): Promise<Buffer | null> {
  try {
    await using folder = await openFolder(above(place), false)
    await using file = await open(within(folder, nameOf(place)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    const stats = await file.stat()
    if (!stats.isFile()) throw new MusterError('invalid_argument', `${shown(place)} is no file`)
    if (stats.size > bytesMax) {
      throw new MusterError('too_large', `${shown(place)} has over ${bytesMax} bytes`)
    }
    return await file.readFile()
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null
    throw strange(error, shown(place))
  }
}

export type FileAccess = {
  readonly mode: number
  /** Of the owner, and of the group; null: those of the folder. */
  readonly uid: number | null
  readonly gid: number | null
}

/** Others see the old file or the new one, never a part. Resolves with whether anything was another. */
export async function writeTaskFile(
  place: TaskPlace,
  content: string | Buffer,
  { mode, uid, gid }: FileAccess,
): Promise<boolean> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const name = nameOf(place)
  await using folder = await openFolder(above(place), true)
  const path = within(folder, name)
  const before = await lstat(path).catch(() => null)
  if (before?.isDirectory() === true) {
    throw new MusterError('invalid_argument', `${shown(place)} is a folder`)
  }
  const isSame =
    before?.isFile() === true &&
    before.size === bytes.length &&
    (before.mode & 0o777) === mode &&
    (uid === null || before.uid === uid) &&
    (gid === null || before.gid === gid) &&
    (await bytesOf(place, bytes.length))?.equals(bytes) === true
  if (isSame) return false
  const temporary = within(folder, `.${randomUUID()}`)
  try {
    await using file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    await file.writeFile(bytes)
    await file.chmod(mode)
    await giveToOwnerOf(folder, file)
    if (uid !== null || gid !== null) {
      const own = await file.stat()
      await file.chown(uid ?? own.uid, gid ?? own.gid)
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  return true
}

function above({ root, parts }: TaskPlace): TaskPlace {
  return { root, parts: parts.slice(0, -1) }
}

function nameOf(place: TaskPlace): string {
  const name = place.parts.at(-1)
  if (name !== undefined) return name
  throw new MusterError('invalid_argument', 'the folder itself is no file')
}

function shown({ parts }: TaskPlace): string {
  return parts.join('/')
}

async function isMade(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: folderMode })
    return true
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error
    return false
  }
}

function strange(error: unknown, name: string): unknown {
  switch (systemCodeOf(error)) {
    case 'ELOOP':
      return new MusterError('permission_denied', `${name} is a link, and no link is followed`)
    case 'ENOTDIR':
      return new MusterError('permission_denied', `${name} is no folder, or a link`)
    default:
      return error
  }
}
