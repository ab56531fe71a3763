/** Reading again, all of it or as much of it as is good, what was read at start. */
import { MusterError, textOf } from '../lib/errors.ts'

/** One that fails keeps no other from being read. Throws one line for all that stay as they were. */
export async function reloadAll(
  reloads: readonly (() => Promise<void> | undefined)[],
): Promise<void> {
  const failures: string[] = []
  for (const reload of reloads) {
    try {
      await reload()
    } catch (error) {
      failures.push(textOf(error).replaceAll('\n', '; '))
    }
  }
  if (failures.length > 0) throw new MusterError('invalid_argument', failures.join('; '))
}
