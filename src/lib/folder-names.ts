/** Names of what is in a folder; none where there is no folder. */
import { readdir } from 'node:fs/promises'
import { systemCodeOf } from './errors.ts'

export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return []
    throw error
  }
}
