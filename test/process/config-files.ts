/** Configuration files in a temporary folder, loaded or refused. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { loadConfig } from '../../src/process/config.ts'
import { MusterError } from '../../src/lib/errors.ts'

/** Five lines with the last empty: what is added to it stands in line 5. */
export const smallest = 'data_dir = "/data"\nserver {\n  enabled = true\n}\n'

/** Writes files into a new folder and loads those named (default: the whole folder). */
export async function load(
  t: Test,
  files: Readonly<Record<string, string | Buffer>>,
  paths = ['.'],
) {
  const folder = t.testdir()
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return await loadConfig(paths.map((path) => (path === '.' ? folder : join(folder, path))))
}

/** The lines that refuse these files, the folder's path left out. */
export async function refusal(
  t: Test,
  files: Readonly<Record<string, string | Buffer>>,
  paths = ['.'],
) {
  try {
    await load(t, files, paths)
  } catch (error) {
    if (error instanceof MusterError) return error.message.replaceAll(`${t.testdirName}/`, '')
    throw error
  }
  throw new Error('the configuration was accepted')
}
