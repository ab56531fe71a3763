/** One block written, synced and removed again: what shows whether a disk takes writes, also past quotas and read-only mounts. */
import { open, rm } from 'node:fs/promises'

const blockBytes = 4_096

/** Rejects when the disk does not take it. Nothing is left at `path` in either case. */
export async function writeBlock(path: string): Promise<void> {
  try {
    const file = await open(path, 'w', 0o600)
    try {
      // A disk gives a block at the sync at the latest.
      await file.write(Buffer.alloc(blockBytes, 1))
      await file.datasync()
    } finally {
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}
