/** Room on a disk. */
import { statfs } from 'node:fs/promises'

/** Bytes that programs without special rights may still write to the disk under `folder`. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
