/**
 * A disk as one life sees it: once the life is over nothing answers any more. (The disk's own fake rejects what was
 * under way, so that the old life's code would go on and have opinions.)
 */
import type { Disk, DiskFile } from '../../src/raft/storage/disk.ts'
import type { Life } from './scheduler.ts'

export type MortalDisk = Disk & {
  /** What is under way, for the check that nothing is once the log is closed. */
  readonly pending: ReadonlySet<string>
}

export function mortalDisk(disk: Disk, life: Life): MortalDisk {
  const pending = new Set<string>()
  let count = 0
  const whileAlive = <T>(type: string, work: Promise<T>): Promise<T> => {
    const name = `${type} ${(count += 1)}`
    pending.add(name)
    return new Promise((resolve, reject) => {
      work.then(
        (value) => {
          pending.delete(name)
          if (life.alive) resolve(value)
        },
        (error: unknown) => {
          pending.delete(name)
          if (life.alive) reject(error instanceof Error ? error : new Error(String(error)))
        },
      )
    })
  }
  const mortalFile = (file: DiskFile): DiskFile => ({
    size: () => whileAlive('size', file.size()),
    read: (buffer, position) => whileAlive('read', file.read(buffer, position)),
    write: (buffer, position) => whileAlive('write', file.write(buffer, position)),
    sync: () => whileAlive('sync', file.sync()),
    truncate: (size) => whileAlive('truncate', file.truncate(size)),
    close: () => whileAlive('close', file.close()),
  })
  return {
    path: disk.path,
    pending,
    list: () => whileAlive('list', disk.list()),
    create: (name) => whileAlive('create', disk.create(name).then(mortalFile)),
    open: (name) => whileAlive('open', disk.open(name).then(mortalFile)),
    rename: (from, to) => whileAlive('rename', disk.rename(from, to)),
    remove: (name) => whileAlive('remove', disk.remove(name)),
    syncFolder: () => whileAlive('syncFolder', disk.syncFolder()),
  }
}
