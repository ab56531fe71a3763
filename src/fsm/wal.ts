/**
 * Makes LevelDB's write-ahead file a prefix of what was written, before LevelDB opens it.
 *
 * LevelDB skips a record that does not check and goes on with the next: after a power cut in which blocks of
 * the unsynced end reached the disk out of order, later batches would be there and an earlier one not. Here the
 * file is read by LevelDB's own format (blocks of 32 KiB; records of checksum, length, kind) and cut at the first record that
 * does not check. See docs/decisions/0002-leveldb-prefix-durability.md.
 */
import { open, readdir, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { MusterError } from '../lib/errors.ts'
import { maskedCrc32c } from './crc32c.ts'
import { readFully } from './level-folder.ts'

const blockBytes = 32 * 1024
const headerBytes = 7
const recordKind = { full: 1, first: 2, middle: 3, last: 4 } as const

export type LogCut = {
  readonly file: string
  readonly keptBytes: number
  readonly cutBytes: number
}

/** The number of the newest write-ahead file, 0 when there is none. */
export async function newestLog(folder: string): Promise<number> {
  return Math.max(0, ...(await logNames(folder)).map((name) => Number.parseInt(name, 10)))
}

/** Oldest first. */
async function logNames(folder: string): Promise<readonly string[]> {
  return (await readdir(folder))
    .filter((name) => /^\d+\.log$/.test(name))
    .sort((left, right) => Number.parseInt(left, 10) - Number.parseInt(right, 10))
}

/**
 * Cuts the newest write-ahead file of a closed LevelDB folder; the caller holds the lock on it. Resolves to what was cut, null
 * when nothing was. Throws `corrupt` when an older one is damaged and a newer one holds anything: it was synced whole then.
 * (Newer and empty is what LevelDB begins beside the one that a full disk tore.)
 */
export async function cutTornLog(folder: string): Promise<LogCut | null> {
  const logs = await logNames(folder)
  for (const [position, name] of logs.entries()) {
    const path = join(folder, name)
    const file = await open(path, 'r+')
    try {
      const { size } = await file.stat()
      const keptBytes = await soundBytes(file, size)
      if (keptBytes === size) continue
      if (!(await allEmpty(logs.slice(position + 1).map((newer) => join(folder, newer))))) {
        throw new MusterError(
          'corrupt',
          `${path} is damaged at byte ${keptBytes} of ${size}, and newer data builds on it`,
        )
      }
      await file.truncate(keptBytes)
      await file.sync()
      return { file: path, keptBytes, cutBytes: size - keptBytes }
    } finally {
      await file.close()
    }
  }
  return null
}

async function allEmpty(paths: readonly string[]): Promise<boolean> {
  for (const path of paths) if ((await stat(path)).size > 0) return false
  return true
}

/** Bytes up to the end of the last whole record before the first thing that does not check. */
async function soundBytes(file: FileHandle, size: number): Promise<number> {
  const block = Buffer.alloc(blockBytes)
  let sound = 0
  let inRecord = false
  for (let start = 0; start < size; start += blockBytes) {
    const length = await readFully(file, block, start, Math.min(blockBytes, size - start))
    let offset = 0
    while (offset + headerBytes <= length) {
      const dataBytes = block.readUInt16LE(offset + 4)
      const end = offset + headerBytes + dataBytes
      if (end > length) return sound
      const checksum = maskedCrc32c(block, offset + 6, end)
      if (checksum !== block.readUInt32LE(offset)) return sound
      const type = block[offset + 6]
      const opens = type === recordKind.full || type === recordKind.first
      if (opens === inRecord || type === undefined || type > recordKind.last) return sound
      inRecord = type === recordKind.first || type === recordKind.middle
      offset = end
      if (!inRecord) sound = start + offset
    }
    // A block's last bytes, too short for a header, are padding: they belong to the record before.
    if (!inRecord && length === blockBytes) sound = start + blockBytes
  }
  return sound
}
