/**
 * Counts the assertions in a TAP stream, subtests' own summary lines left out.
 */
export type Counts = { readonly passed: number; readonly failed: number }

/**
 * A result line is a summary when it opens a block (`ok 1 - name {`) or closes an indented one.
 * A test file that ended badly without one failed assertion counts as one failure.
 */
export function countTap(text: string): Counts {
  let passed = 0
  let failed = 0
  let deepest = 0
  let inDiagnostics = false
  let failedFiles = 0
  for (const line of text.split('\n')) {
    const trimmed = line.trimStart()
    if (inDiagnostics) {
      inDiagnostics = trimmed !== '...'
      continue
    }
    if (trimmed === '---') {
      inDiagnostics = true
      continue
    }
    const indent = line.length - trimmed.length
    const result = /^(not )?ok\b(.*)$/.exec(trimmed)
    if (result === null) {
      // A plan belongs to its level, so an indented one says that a subtest is open.
      if (/^1\.\.\d+/.test(trimmed)) deepest = Math.max(deepest, indent)
      else if (trimmed === '}') deepest = indent
      continue
    }
    const bad = result[1] !== undefined && !/# (todo|skip)\b/i.test(result[2] ?? '')
    const summary = line.endsWith('{') || deepest > indent
    deepest = indent
    if (indent === 0 && bad) failedFiles += 1
    if (summary) continue
    if (bad) failed += 1
    else if (!/# skip\b/i.test(result[2] ?? '')) passed += 1
  }
  return { passed, failed: Math.max(failed, failedFiles) }
}
