/**
 * An exclusive lock on a file, held by one process and given back by the kernel when that process ends, however it ends.
 *
 * Node.js offers no file locks. SQLite takes them (POSIX record locks; `LockFileEx` on Windows) on behalf of a database
 * file, and an empty file is a valid database: an exclusive transaction on it takes the lock and writes nothing. So the
 * lock needs no room on the disk, has no content that could be damaged, and leaves no stale state to judge. The kernel
 * grants it only to processes that may write the file.
 */
import { access, constants, open, stat, truncate } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { systemCodeOf } from './errors.ts'

/** SQLite's result code for a lock that another process or connection holds. */
const sqliteBusy = 5

export class FileLock {
  readonly #database: DatabaseSync

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * Makes the file if there is none. Null: another process, or another lock of this one, holds it. Throws the system's
   * error when the file cannot be made or written (`ENOSPC`, `EROFS`, `EACCES`).
   *
   * A file must not be opened and closed elsewhere in this process while it is locked: POSIX drops a process's locks on
   * a file with the first descriptor that is closed.
   */
  static async take(path: string): Promise<FileLock | null> {
    const size = await sizeOf(path)
    if (size === null) await (await open(path, 'a', 0o600)).close()
    // SQLite would fall back to a lock that is not exclusive.
    await access(path, constants.W_OK)
    // Nothing is ever written to it, so whatever is in it is damage.
    if (size !== null && size > 0) await truncate(path)
    const database = new DatabaseSync(path, { timeout: 0 })
    try {
      database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    } catch (error) {
      database.close()
      if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) return null
      throw error
    }
    return new FileLock(database)
  }

  /** Gives the lock back. Harmless when done twice. */
  release(): void {
    if (this.#database.isOpen) this.#database.close()
  }
}

/** Null: there is no such file. */
async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null
    throw error
  }
}
