/** The datacenters of a job: names, with `*` for any letters. */
export function datacenterMatch(patterns: readonly string[]): (datacenter: string) => boolean {
  const forms = patterns.map((pattern) => pattern.split('*'))
  return (datacenter) => forms.some((parts) => matches(parts, datacenter))
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
