/** The name of this process, as other programs have it. */
import { writeFile } from 'node:fs/promises'

/** What `ps`, `pgrep` and `pidof` know this process by: Node.js names it after its main thread. Elsewhere than on Linux it keeps its name. */
export async function nameProcess(name: string): Promise<void> {
  await writeFile('/proc/self/comm', name).catch(() => {})
}
