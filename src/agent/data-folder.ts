/**
 * A data folder belongs to one process at a time. The lock is an abstract Unix socket named after the folder's
 * device and inode: the kernel grants it to one process and takes it back when that process dies, however it dies.
 * So there is no stale lock to judge, and the same folder by another path is the same lock. Where the system has no
 * such sockets, LevelDB's own file lock is the only guard. `muster.pid` is there to name the owner to people.
 */
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { platform } from 'node:os'
import { join } from 'node:path'
import { MusterError, textOf } from '../lib/errors.ts'

const PID_FILE = 'muster.pid'
/** Data is for its owner's eyes only. */
const FOLDER_MODE = 0o700

export type DataFolder = {
  readonly path: string
  /** Gives the folder free. Harmless when done twice. */
  release(): Promise<void>
}

/** Makes the folder if need be. Throws `conflict` while another process has it, `unavailable` if it cannot be used. */
export async function claimDataFolder(path: string): Promise<DataFolder> {
  let lock: Server | null
  try {
    await mkdir(path, { recursive: true, mode: FOLDER_MODE })
    const { dev, ino } = await stat(path)
    lock = platform() === 'linux' ? await listen(`\0muster-data-${dev}-${ino}`) : null
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      const owner = await readFile(join(path, PID_FILE), 'utf8').catch(() => '')
      const named = /^\d+\s*$/.test(owner) ? `process ${owner.trim()}` : 'another process'
      throw new MusterError(
        'conflict',
        `the data folder ${path} is in use by ${named}; stop it, or give this one another data_dir`,
        { cause: error },
      )
    }
    throw new MusterError('unavailable', `the data folder ${path}: ${textOf(error)}`, {
      cause: error,
    })
  }
  const pidFile = join(path, PID_FILE)
  try {
    await writeFile(pidFile, `${process.pid}\n`)
  } catch (error) {
    lock?.close()
    throw new MusterError('unavailable', `the data folder ${path}: ${textOf(error)}`, {
      cause: error,
    })
  }
  return {
    path,
    async release() {
      const held = lock
      lock = null
      if (held?.listening !== true) return
      await rm(pidFile, { force: true })
      await new Promise<void>((resolve) => {
        held.close(() => resolve())
      })
    },
  }
}

/** A server that nobody needs to reach: whoever connects is hung up on. */
async function listen(name: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  return await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path: name }, () => {
      server.unref()
      resolve(server)
    })
  })
}
