/**
 * Names what failed in a TAP stream, one line each, for whoever has only the end of a log to go by:
 * `file > test > subtest > assertion (line 12)`.
 */

const namesMax = 20

type Level = { readonly indent: number; readonly name: string }

/** The failed results that hold no failed result themselves, in order; at most twenty, then how many more. */
export function failuresInTap(text: string): readonly string[] {
  const open: Level[] = []
  const failures: string[] = []
  let inDiagnostics = false
  let mayTakeLine = false
  /** The indent of the failure seen last: its parents fail because of it and say nothing new. */
  let explained = -1
  for (const line of text.split('\n')) {
    const trimmed = line.trimStart()
    const indent = line.length - trimmed.length
    if (inDiagnostics) {
      if (trimmed === '...') inDiagnostics = false
      const lineNumber = /^lineNumber: (\d+)$/.exec(trimmed)?.[1]
      if (mayTakeLine && lineNumber !== undefined) {
        failures.push(`${failures.pop() ?? ''} (line ${lineNumber})`)
        mayTakeLine = false
      }
      continue
    }
    if (trimmed === '---') {
      inDiagnostics = true
      continue
    }
    mayTakeLine = false
    const opened = /^# Subtest: (.*)$/.exec(trimmed)
    if (opened !== null) {
      while ((open.at(-1)?.indent ?? -1) >= indent) open.pop()
      open.push({ indent, name: opened[1] ?? '' })
      explained = -1
      continue
    }
    const result = /^(not )?ok \d+(?: - )?(.*)$/.exec(trimmed)
    if (result === null) continue
    const [, not, name = ''] = result
    const bad = not !== undefined && !/# (todo|skip)\b/i.test(name)
    if (bad && explained <= indent) {
      const parents = open.filter((level) => level.indent < indent).map((level) => level.name)
      failures.push([...parents, name.replace(/ # time=.*$/, '')].join(' > '))
      mayTakeLine = true
    }
    if (bad) explained = indent
    else if (explained > indent) explained = -1
  }
  if (failures.length <= namesMax) return failures
  return [...failures.slice(0, namesMax), `and ${failures.length - namesMax} more`]
}
