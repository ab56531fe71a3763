/** The memory that this process takes for itself. */
import { readFileSync } from 'node:fs'

/**
 * Resident bytes without those of mapped files, such as the program and LevelDB's tables: the system takes these back when it needs
 * them. Off Linux nothing says which these are, so they are counted too.
 */
export function ownMemoryBytes(): number {
  return anonymousBytes() ?? process.memoryUsage.rss()
}

function anonymousBytes(): number | null {
  try {
    const kiB = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]
    return kiB === undefined ? null : Number(kiB) * 1_024
  } catch {
    // No such file, or no descriptor to spare.
    return null
  }
}
