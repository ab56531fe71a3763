/** How many files and connections the system lets this process have open. */
import { readFileSync } from 'node:fs'

/** Node.js raises its own limit to the hard one. Infinity where nothing says what that is. */
export function descriptorsMax(read = () => readFileSync('/proc/self/limits', 'latin1')): number {
  try {
    const [, hard = ''] = /^Max open files\s+\S+\s+(\S+)/m.exec(read()) ?? []
    return /^\d+$/.test(hard) ? Number(hard) : Infinity
  } catch {
    return Infinity
  }
}
