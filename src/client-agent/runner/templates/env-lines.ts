/** Lines of KEY=VALUE, as templates with `env = true` make them. Pure. */
import { MusterError } from '../../../lib/errors.ts'

const linePattern = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)$/

/**
 * Empty lines and those that begin with # say nothing. A value may stand in double quotes, with escapes as in JSON, or in single
 * ones, as it is; without quotes it ends before a blank and a #. Throws `invalid_argument` with the line, and nothing of it.
 */
export function parseEnvLines(text: string): readonly (readonly [name: string, value: string])[] {
  return text.split('\n').flatMap((line, at) => {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) return []
    const [, name, given = ''] = linePattern.exec(trimmed) ?? []
    const value = name === undefined ? null : valueOf(given)
    if (name === undefined || value === null || value.includes('\0')) {
      throw new MusterError('invalid_argument', `line ${at + 1} is not NAME=VALUE`)
    }
    return [[name, value]]
  })
}

/** Null: quotes are not closed. */
function valueOf(given: string): string | null {
  const quoted = /^("(?:[^"\\]|\\.)*"|'[^']*')(?:\s+#.*)?$/.exec(given)?.[1]
  if (quoted === undefined) {
    return /^["']/.test(given) ? null : given.replace(/(?:^|\s+)#.*$/, '')
  }
  if (quoted.startsWith("'")) return quoted.slice(1, -1)
  try {
    const value: unknown = JSON.parse(quoted)
    return typeof value === 'string' ? value : null
  } catch {
    return null
  }
}
