/** All of some bytes to a file. A system's write may take a part of them, as on a disk that is full: only the next one says why. */
import { writeSync } from 'node:fs'

/** Of a `FileHandle`. */
export type Writing = {
  write(bytes: Uint8Array, offset: number): Promise<{ readonly bytesWritten: number }>
}

/** Where the file stands. Rejects with the system's error; a part of it may be written then. */
export async function writeAll(file: Writing, bytes: Uint8Array): Promise<void> {
  let from = 0
  while (from < bytes.length) from += (await file.write(bytes, from)).bytesWritten
}

/** The same, without a pause. */
export function writeAllSync(fd: number, bytes: Uint8Array): void {
  let from = 0
  while (from < bytes.length) from += writeSync(fd, bytes, from)
}
