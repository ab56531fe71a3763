/**
 * A disk as one life sees it: once the life is over nothing answers any more. (The disk's own twin rejects what was
 * under way, so that the old life's code would go on and have opinions.)
 */
import type { Disk, DiskFile } from '../../src/raft/storage/disk.ts'
import type { Life } from './scheduler.ts'

export function mortalDisk(disk: Disk, life: Life): Disk {
  const whileAlive = <T>(work: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      work.then(
        (value) => {
          if (life.alive) resolve(value)
        },
        (error: unknown) => {
          if (life.alive) reject(error instanceof Error ? error : new Error(String(error)))
        },
      )
    })
  const mortalFile = (file: DiskFile): DiskFile => ({
    size: () => whileAlive(file.size()),
    read: (buffer, position) => whileAlive(file.read(buffer, position)),
    write: (buffer, position) => whileAlive(file.write(buffer, position)),
    sync: () => whileAlive(file.sync()),
    truncate: (size) => whileAlive(file.truncate(size)),
    close: () => whileAlive(file.close()),
  })
  return {
    path: disk.path,
    list: () => whileAlive(disk.list()),
    create: (name) => whileAlive(disk.create(name).then(mortalFile)),
    open: (name) => whileAlive(disk.open(name).then(mortalFile)),
    rename: (from, to) => whileAlive(disk.rename(from, to)),
    remove: (name) => whileAlive(disk.remove(name)),
    syncFolder: () => whileAlive(disk.syncFolder()),
  }
}
