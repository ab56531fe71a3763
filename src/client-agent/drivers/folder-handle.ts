/** Folders that a task can reach: it may have left a link where one was, and none is followed. */
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants

/** Rejects with the error of the system where there is no folder. */
export function openFolder(path: string): Promise<FileHandle> {
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
}
