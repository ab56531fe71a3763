/** Reads of client nodes. */
import type { Reader } from '../../fsm/domain.ts'
import { evaluations } from '../evaluations/table.ts'
import type { NodeRow } from './model.ts'
import { nodes } from './table.ts'

export function nodeById(reader: Reader, id: string): NodeRow | null {
  return reader.get(nodes, [id]) ?? null
}

/** In the order of their ids, from those that begin with `prefix` on. */
export function nodesWithPrefix(reader: Reader, prefix: string): AsyncIterable<readonly NodeRow[]> {
  return reader.pages(nodes, { startsWith: prefix })
}

/** Ids of the evaluations that the entry made for the node. */
export async function evaluationsMadeAt(
  reader: Reader,
  node: string,
  index: number,
): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const page of reader.pagesBy(evaluations, 'byNode', {
    prefix: [node],
    from: [node, index],
  })) {
    for (const { id, createIndex } of page) if (createIndex === index) ids.push(id)
  }
  return ids
}
