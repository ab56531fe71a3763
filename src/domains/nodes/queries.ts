/** Reads of client nodes. */
import type { Reader } from '../../fsm/domain.ts'
import type { NodeRow } from './model.ts'
import { nodes } from './table.ts'

export function nodeById(reader: Reader, id: string): NodeRow | null {
  return reader.get(nodes, [id]) ?? null
}

/** In the order of their ids, from those that begin with `prefix` on. */
export function nodesWithPrefix(reader: Reader, prefix: string): AsyncIterable<readonly NodeRow[]> {
  return reader.pages(nodes, { startsWith: prefix })
}
