/**
 * How an operator who lost every management token gets a new one: the file `acl-bootstrap-reset` in the data folder of
 * the leader, holding the reset index that a refused bootstrap names. A process that may write there owns the server anyway.
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ResetFile } from '../domains/acl/bootstrap-reset.ts'
import { syncFolder } from '../lib/durable-file.ts'

export const resetFileName = 'acl-bootstrap-reset'

export function resetFileIn(dataFolder: string): ResetFile {
  const path = join(dataFolder, resetFileName)
  return {
    path,
    read: async () => {
      const text = await readFile(path, 'utf8').catch(() => '')
      const trimmed = text.trim()
      return /^\d{1,15}$/.test(trimmed) ? Number(trimmed) : null
    },
    remove: async () => {
      await rm(path, { force: true })
      await syncFolder(dataFolder)
    },
  }
}
