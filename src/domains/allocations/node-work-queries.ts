/** What the work of a node means for the node itself: how long it may be cut off, and what is awaited of one that is back. */
import type { Reader } from '../../fsm/domain.ts'
import { allocationsOnNode, specsOf } from './queries.ts'
import { windowMsOf } from './window-model.ts'

/** The longest that something on the node may be cut off; null: nothing may. */
export async function windowMsOfNode(reader: Reader, node: string): Promise<number | null> {
  const specOf = specsOf(reader)
  let longest: number | null = null
  for await (const page of allocationsOnNode(reader, node)) {
    for (const row of page) {
      if (row.desiredStatus !== 'run') continue
      const windowMs = windowMsOf(row, specOf(row))
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
