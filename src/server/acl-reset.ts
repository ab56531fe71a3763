/**
 * How an operator who lost every management token gets a new one: the file `acl-bootstrap-reset` in the data folder of
 * the leader, holding the reset index that a refused bootstrap names. A process that may write there owns the server anyway.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export const resetFileName = 'acl-bootstrap-reset'

/** Null: there is none, or it holds no number. */
export async function readResetIndex(dataFolder: string): Promise<number | null> {
  const text = await readFile(join(dataFolder, resetFileName), 'utf8').catch(() => '')
  const trimmed = text.trim()
  return /^\d{1,15}$/.test(trimmed) ? Number(trimmed) : null
}
