/**
 * A data folder belongs to one process at a time: the one that holds the lock on its file `muster.lock`. The kernel takes
 * the lock back when that process dies, however it dies, so there is no stale lock to judge; and only users that
 * may write in the folder can hold it. `muster.pid` is there to name the owner to people.
 */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRefusal } from '../lib/disk-gate.ts'
import { fullTextOf, MusterError } from '../lib/errors.ts'
import { FileLock } from '../lib/file-lock.ts'
import { makeFolder } from '../lib/make-folder.ts'

const LOCK_FILE = 'muster.lock'
const PID_FILE = 'muster.pid'
/** Data is for its owner's eyes only. */
const FOLDER_MODE = 0o700

/** Of a release's launcher: where LevelDB's binding may be written to if no other folder takes it. */
declare const dataFolders: string[] | undefined

export type DataFolder = {
  readonly path: string
  /** Gives the folder free. Harmless when done twice. */
  release(): Promise<void>
}

/** Makes the folder if need be. Throws `conflict` while another process has it, `unavailable` if it cannot be used. */
export async function claimDataFolder(path: string): Promise<DataFolder> {
  const pidFile = join(path, PID_FILE)
  const lock = await onDisk(path, async () => {
    await makeFolder(path, FOLDER_MODE)
    return FileLock.take(join(path, LOCK_FILE))
  })
  if (lock === null) {
    const owner = await readFile(pidFile, 'utf8').catch(() => '')
    const named = /^\d+\s*$/.test(owner) ? `process ${owner.trim()}` : 'another process'
    throw new MusterError(
      'conflict',
      `the data folder ${path} is in use by ${named}; stop it, or give this one another data_dir`,
    )
  }
  try {
    await onDisk(path, () => writePid(pidFile))
  } catch (error) {
    lock.release()
    throw error
  }
  if (typeof dataFolders === 'object') dataFolders.push(path)
  let held = true
  return {
    path,
    async release() {
      if (!held) return
      held = false
      await rm(pidFile, { force: true })
      lock.release()
    },
  }
}

/** For people alone: a full disk does not keep a process from its folder, but no other's pid may stay there. */
async function writePid(pidFile: string): Promise<void> {
  try {
    await writeFile(pidFile, `${process.pid}\n`)
  } catch (error) {
    if (!isRefusal(error)) throw error
    await rm(pidFile, { force: true }).catch(() => {})
  }
}

/** Names the folder in what the disk says is wrong. */
async function onDisk<T>(path: string, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    throw new MusterError('unavailable', `the data folder ${path}: ${fullTextOf(error)}`, {
      cause: error,
    })
  }
}
