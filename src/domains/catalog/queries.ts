/**
 * Reads of the catalog. Names of nodes, services and checks match in any letter case, ids of services exactly.
 *
 * The index to block on is that of whole tables, and what a reader is parked on the rows it read: it learns of changes
 * of its own rows alone, under an index that never falls when one of them goes.
 */
import type { Reader } from '../../fsm/domain.ts'
import { firstOf } from '../define.ts'
import {
  isNodeId,
  keyOfName,
  type CheckRow,
  type CheckStatus,
  type NodeRow,
  type ServiceRow,
} from './model.ts'
import { catalogChecks, catalogNodes, catalogServices } from './table.ts'

export function nodeOf(reader: Reader, name: string): NodeRow | null {
  return reader.get(catalogNodes, [keyOfName(name)]) ?? null
}

/** `id`: in lower case. */
export function nodeById(reader: Reader, id: string): Promise<NodeRow | null> {
  return firstOf(reader.pagesBy(catalogNodes, 'byId', { prefix: [id] }))
}

/** A name wins over an id of the same spelling. */
export async function nodeByNameOrId(reader: Reader, text: string): Promise<NodeRow | null> {
  const named = nodeOf(reader, text)
  if (named !== null || !isNodeId(text)) return named
  return nodeById(reader, text.toLowerCase())
}

export function serviceOf(reader: Reader, node: string, id: string): ServiceRow | null {
  return reader.get(catalogServices, [keyOfName(node), id]) ?? null
}

export function checkOf(reader: Reader, node: string, id: string): CheckRow | null {
  return reader.get(catalogChecks, [keyOfName(node), keyOfName(id)]) ?? null
}

export function listNodes(reader: Reader): AsyncIterable<readonly NodeRow[]> {
  return reader.pages(catalogNodes)
}

/** In the order of their ids. */
export function nodesWithId(reader: Reader): AsyncIterable<readonly NodeRow[]> {
  return reader.pagesBy(catalogNodes, 'byId')
}

export function listServices(reader: Reader): AsyncIterable<readonly ServiceRow[]> {
  return reader.pages(catalogServices)
}

export function servicesNamed(reader: Reader, name: string): AsyncIterable<readonly ServiceRow[]> {
  return reader.pagesBy(catalogServices, 'byName', { prefix: [keyOfName(name)] })
}

export function servicesOfNode(reader: Reader, node: string): AsyncIterable<readonly ServiceRow[]> {
  return reader.pages(catalogServices, { prefix: [keyOfName(node)] })
}

export function checksOfNode(reader: Reader, node: string): AsyncIterable<readonly CheckRow[]> {
  return reader.pages(catalogChecks, { prefix: [keyOfName(node)] })
}

/** Of all services of that name. */
export function checksOfServiceNamed(
  reader: Reader,
  name: string,
): AsyncIterable<readonly CheckRow[]> {
  return reader.pagesBy(catalogChecks, 'byService', { prefix: [keyOfName(name)] })
}

/** null: of any status. */
export function checksInStatus(
  reader: Reader,
  status: CheckStatus | null,
): AsyncIterable<readonly CheckRow[]> {
  return status === null
    ? reader.pages(catalogChecks)
    : reader.pagesBy(catalogChecks, 'byStatus', { prefix: [status] })
}

export function nodesIndex(reader: Reader): number {
  return reader.tableIndex(catalogNodes)
}

export function servicesIndex(reader: Reader): number {
  return Math.max(reader.tableIndex(catalogServices), reader.tableIndex(catalogNodes))
}

export function checksIndex(reader: Reader): number {
  return reader.tableIndex(catalogChecks)
}

export function healthIndex(reader: Reader): number {
  return Math.max(servicesIndex(reader), checksIndex(reader))
}
