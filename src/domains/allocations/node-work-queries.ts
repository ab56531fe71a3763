/** What the work of a node means for the node itself: how long it may be cut off, and what is awaited of one that is back. */
import type { Reader } from '../../fsm/domain.ts'
import type { JobSpec } from '../jobs/model.ts'
import { allocationsOnNode, versionOfAllocation } from './queries.ts'
import { windowMsOf } from './window-model.ts'

/** The longest that something on the node may be cut off; null: nothing may. */
export async function windowMsOfNode(reader: Reader, node: string): Promise<number | null> {
  const specs = new Map<string, JobSpec | null>()
  let longest: number | null = null
  for await (const page of allocationsOnNode(reader, node)) {
    for (const row of page) {
      if (row.desiredStatus !== 'run') continue
      const key = JSON.stringify([row.namespace, row.jobId, row.jobCreateIndex, row.jobVersion])
      const spec = specs.get(key) ?? versionOfAllocation(reader, row)?.spec ?? null
      specs.set(key, spec)
      const windowMs = windowMsOf(row, spec)
      if (windowMs !== null) longest = Math.max(longest ?? 0, windowMs)
    }
  }
  return longest
}

export async function isAwaitedOfNode(reader: Reader, node: string): Promise<boolean> {
  for await (const page of allocationsOnNode(reader, node)) {
    if (page.some(({ clientStatus }) => clientStatus === 'unknown')) return true
  }
  return false
}
