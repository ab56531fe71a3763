/**
 * The `Disk` of a real file system: one folder, plain file descriptors.
 * Callbacks of node:fs rather than FileHandle: the promise layer costs more than the page-cache write it wraps.
 */
import fs from 'node:fs'
import path from 'node:path'
import { assert } from '../../lib/assert.ts'
import type { Disk, DiskFile } from './disk.ts'

const { O_RDWR, O_CREAT, O_EXCL } = fs.constants
const fileMode = 0o600
const folderMode = 0o700

/** Opens the folder, creating it (and what is above it) when absent. */
export async function systemDisk(folder: string): Promise<Disk> {
  const absolute = path.resolve(folder)
  await createFolder(absolute)
  const at = (name: string): string => {
    assert(name !== '' && path.basename(name) === name, 'a name on a disk is flat')
    return path.join(absolute, name)
  }
  return {
    path: absolute,
    list: () => fs.promises.readdir(absolute),
    // A name that exists is refused, so that no existing file is overwritten.
    create: async (name) => openFile(at(name), O_RDWR | O_CREAT | O_EXCL),
    open: async (name) => openFile(at(name), O_RDWR),
    rename: async (from, to) => fs.promises.rename(at(from), at(to)),
    remove: async (name) => fs.promises.unlink(at(name)),
    syncFolder: () => syncPath(absolute),
  }
}

/** `mkdir -p` whose result survives a power cut: each new name is synced in the folder that holds it. */
async function createFolder(absolute: string): Promise<void> {
  const first = await fs.promises.mkdir(absolute, { recursive: true, mode: folderMode })
  if (first === undefined) return
  for (let made = absolute; made.length >= first.length; made = path.dirname(made)) {
    await syncPath(path.dirname(made))
  }
}

async function syncPath(folder: string): Promise<void> {
  const handle = await fs.promises.open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Where the kernel offers it, a write returns when it is durable, so that write and sync are one turn in the thread pool. The
 * event loop itself never writes: a copy into the kernel's memory waits as well when the file system is frozen or overdue.
 */
const durableWrites = process.platform === 'linux' ? fs.constants.O_DSYNC : 0

function openFile(absolute: string, flags: number): Promise<DiskFile> {
  return call<number>((done) => fs.open(absolute, flags | durableWrites, fileMode, done)).then(
    fileOf,
  )
}

function fileOf(fd: number): DiskFile {
  /**
   * Changes that only a sync makes durable, counted as they end, and how many of them a sync that has ended began after: what
   * ended while it ran is not among them.
   */
  let changed = 0
  let synced = 0
  return {
    size: async () => (await call<fs.Stats>((done) => fs.fstat(fd, done))).size,

    async read(buffer, position) {
      let filled = 0
      while (filled < buffer.length) {
        const count = await call<number>((done) =>
          fs.read(fd, buffer, filled, buffer.length - filled, position + filled, done),
        )
        if (count === 0) break
        filled += count
      }
      return filled
    },

    async write(buffer, position) {
      let written = 0
      try {
        while (written < buffer.length) {
          written += await call<number>((done) =>
            fs.write(fd, buffer, written, buffer.length - written, position + written, done),
          )
        }
      } finally {
        if (durableWrites === 0) changed += 1
      }
    },

    // fdatasync writes the size too when it changed; times alone are not worth a journal commit.
    async sync() {
      const upTo = changed
      if (synced >= upTo) return
      await perform((done) => fs.fdatasync(fd, done))
      synced = Math.max(synced, upTo)
    },
    async truncate(size) {
      try {
        await perform((done) => fs.ftruncate(fd, size, done))
      } finally {
        changed += 1
      }
    },
    named: async () => (await call<fs.Stats>((done) => fs.fstat(fd, done))).nlink > 0,
    close: () => perform((done) => fs.close(fd, done)),
  }
}

function perform(run: (done: (error: Error | null | undefined) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    run((error) => (error ? reject(error) : resolve()))
  })
}

function call<T>(run: (done: (error: Error | null, result: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    run((error, result) => (error === null ? resolve(result) : reject(error)))
  })
}
