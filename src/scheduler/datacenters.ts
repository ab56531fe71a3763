/** The datacenters of a job: names, with `*` for any letters. */
import type { Metrics } from '../domains/evaluations/model.ts'

export function datacenterMatch(patterns: readonly string[]): (datacenter: string) => boolean {
  const forms = patterns.map((pattern) => pattern.split('*'))
  return (datacenter) => forms.some((parts) => matches(parts, datacenter))
}

type Count = Metrics['nodesAvailable'][number]

/** Longer ones no count has a place for. */
const countedLengthMax = 256

/** Counts of nodes by datacenter, with those that the job names and that have none. A pattern stands for none by itself. */
export function withDeserted(
  counts: Metrics['nodesAvailable'],
  patterns: readonly string[],
): Metrics['nodesAvailable'] {
  const known = new Set(counts.map(([name]) => name))
  const deserted = [...new Set(patterns)].filter(
    (name) => !name.includes('*') && !known.has(name) && name.length <= countedLengthMax,
  )
  return [...counts, ...deserted.map((name): Count => [name, 0])]
}

/** The first part in front, the last at the end, and the others in between, each as early as it can be: linear, without a way back. */
function matches(parts: readonly string[], text: string): boolean {
  const first = parts[0] ?? ''
  const last = parts.at(-1) ?? ''
  if (parts.length === 1) return text === first
  if (!text.startsWith(first) || text.length < first.length + last.length) return false
  if (!text.endsWith(last)) return false
  let at = first.length
  const end = text.length - last.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}
