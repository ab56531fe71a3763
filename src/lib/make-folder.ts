/**
 * A folder and those above it. `mkdir` with `recursive` never ends where the system says that something above is missing although
 * it is there, as it does in /proc.
 */
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCodeOf } from './errors.ts'

/**
 * Makes what is missing. Resolves with the topmost folder that was made, or undefined when all were there. Rejects with the
 * system's error, as `mkdir` does.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<string | undefined> {
  try {
    await mkdir(path, { mode })
    return path
  } catch (error) {
    const code = systemCodeOf(error)
    if (code === 'EEXIST') return isThere(path, error)
    const above = dirname(path)
    if (code !== 'ENOENT' || above === path) throw error
    const first = await makeFolder(above, mode)
    try {
      await mkdir(path, { mode })
    } catch (second) {
      // Another process may have made it meanwhile.
      if (systemCodeOf(second) === 'EEXIST') return isThere(path, second)
      throw second
    }
    return first ?? path
  }
}

/** Throws `error` for a file. */
async function isThere(path: string, error: unknown): Promise<undefined> {
  if (!(await stat(path)).isDirectory()) throw error
}
