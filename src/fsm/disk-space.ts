/** Whether a disk has room and takes writes, tried before something is begun that must not stop half way. */
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { freeBytesOf } from '../lib/disk-space.ts'

const probeName = 'room-probe'
/** One block. */
const probeBytes = 4_096

/** Throws an error with code `ENOSPC` when fewer than `bytes` are free under `folder`, and the disk's own when a file cannot be made there. */
export async function assertDiskSpace(folder: string, bytes: number): Promise<void> {
  const free = await freeBytesOf(folder)
  if (free < bytes) {
    const text = `${free} bytes are free in ${folder}, ${bytes} are needed`
    throw Object.assign(new Error(text), { code: 'ENOSPC' })
  }
  // Quotas and read-only disks show only in the attempt.
  const path = join(folder, probeName)
  try {
    const file = await open(path, 'w', 0o600)
    try {
      await file.write(Buffer.alloc(probeBytes, 1))
      await file.datasync()
    } finally {
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}
