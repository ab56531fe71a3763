/** Whether a disk has room and takes writes, tried before something is begun that must not stop half way. */
import { join } from 'node:path'
import { freeBytesOf } from '../lib/disk-space.ts'
import { writeBlock } from '../lib/write-block.ts'

const probeName = 'room-probe'

/** Throws an error with code `ENOSPC` when fewer than `bytes` are free under `folder`, and the disk's own when a file cannot be made there. */
export async function assertDiskSpace(folder: string, bytes: number): Promise<void> {
  const free = await freeBytesOf(folder)
  if (free < bytes) {
    const text = `${free} bytes are free in ${folder}, ${bytes} are needed`
    throw Object.assign(new Error(text), { code: 'ENOSPC' })
  }
  // Quotas and read-only disks show only in the attempt.
  await writeBlock(join(folder, probeName))
}
