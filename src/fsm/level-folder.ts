/** Files of LevelDB that have to be there before it is let to a folder: without them it would begin anew, and delete the rest. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { MusterError, systemCodeOf } from '../lib/errors.ts'

const tablePattern = /^\d+\.(ldb|sst)$/

/** Names of the table files of a folder; none where there is no folder. */
export async function tableNames(folder: string): Promise<readonly string[]> {
  return (await namesIn(folder)).filter((name) => tablePattern.test(name))
}

/** Throws `corrupt` when the file that LevelDB begins to read with is missing. */
export async function assertCurrentFile(folder: string): Promise<void> {
  if ((await namesIn(folder)).includes('CURRENT')) return
  const path = join(folder, 'CURRENT')
  throw new MusterError('corrupt', `${path} is missing, which says which files hold the state`)
}

export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return []
    throw error
  }
}
