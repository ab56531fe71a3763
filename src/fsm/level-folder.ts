/** The files of a LevelDB folder, as this program sees them itself. */
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { MusterError } from '../lib/errors.ts'
import { namesIn } from '../lib/folder-names.ts'

const tablePattern = /^\d+\.(ldb|sst)$/

/** Names of the table files of a folder; none where there is no folder. */
export async function tableNames(folder: string): Promise<readonly string[]> {
  return (await namesIn(folder)).filter((name) => tablePattern.test(name))
}

/** Throws `corrupt` when the file that LevelDB begins to read with is missing: it would begin anew, and delete the rest. */
export async function assertCurrentFile(folder: string): Promise<void> {
  if ((await namesIn(folder)).includes('CURRENT')) return
  const path = join(folder, 'CURRENT')
  throw new MusterError('corrupt', `${path} is missing, which says which files hold the state`)
}

/** Resolves to how many bytes there were, at most `length`. */
export async function readFully(
  file: FileHandle,
  into: Buffer,
  position: number,
  length: number,
): Promise<number> {
  let done = 0
  while (done < length) {
    const { bytesRead } = await file.read(into, done, length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return done
}
