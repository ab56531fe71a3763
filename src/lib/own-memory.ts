/** The memory that this process takes for itself. */
import { readFileSync } from 'node:fs'

let known = 0

/**
 * Resident bytes without those of mapped files, such as the program and LevelDB's tables: the system takes these back when it needs
 * them. Off Linux nothing says which these are, so they are counted too. While there is no descriptor
 * to spare, what was said last.
 */
export function ownMemoryBytes(): number {
  try {
    known = anonymousBytes() ?? process.memoryUsage.rss()
  } catch {
    // It opens a file as well.
  }
  return known
}

function anonymousBytes(): number | null {
  try {
    const kiB = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]
    return kiB === undefined ? null : Number(kiB) * 1_024
  } catch {
    // No such file, or no descriptor.
    return null
  }
}
