/** A disk that is looked at and not touched: what a start would mend is taken as done, and the files stay as they are. */
import { MusterError } from '../../lib/errors.ts'
import type { Disk, DiskFile } from './disk.ts'

export function readingDisk(disk: Disk): Disk {
  return {
    path: disk.path,
    list: () => disk.list(),
    create: () => Promise.reject(new MusterError('unavailable', 'this disk is only read')),
    open: async (name) => readingFile(await disk.open(name)),
    rename: nothing,
    remove: nothing,
    syncFolder: nothing,
  }
}

function readingFile(file: DiskFile): DiskFile {
  return {
    size: () => file.size(),
    read: (buffer, position) => file.read(buffer, position),
    write: nothing,
    sync: nothing,
    truncate: nothing,
    close: () => file.close(),
  }
}

const nothing = (): Promise<void> => Promise.resolve()
