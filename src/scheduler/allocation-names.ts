/** Names of allocations, `job.group[index]`: of a group each index is there once, the lowest free one first. */
export function allocationName(jobId: string, group: string, index: number): string {
  return `${jobId}.${group}[${index}]`
}

/** Null: it is no such name. */
export function indexOfName(name: string): number | null {
  const match = /\[(\d{1,10})\]$/.exec(name)
  return match === null ? null : Number(match[1])
}

/** The lowest names that are not taken. */
export function freeNames(
  jobId: string,
  group: string,
  { count, taken }: { readonly count: number; readonly taken: ReadonlySet<string> },
): readonly string[] {
  const names: string[] = []
  for (let index = 0; names.length < count; index += 1) {
    const name = allocationName(jobId, group, index)
    if (!taken.has(name)) names.push(name)
  }
  return names
}
