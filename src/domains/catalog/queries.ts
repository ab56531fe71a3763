/** Reads of the catalog. Names of nodes, services and checks match in any letter case, ids of services exactly. */
import type { Reader } from '../../fsm/domain.ts'
import { keyOfName, type CheckRow, type NodeRow, type ServiceRow } from './model.ts'
import { catalogChecks, catalogNodes, catalogServices } from './table.ts'

export function nodeOf(reader: Reader, name: string): NodeRow | null {
  return reader.get(catalogNodes, [keyOfName(name)]) ?? null
}

export function serviceOf(reader: Reader, node: string, id: string): ServiceRow | null {
  return reader.get(catalogServices, [keyOfName(node), id]) ?? null
}

export function checkOf(reader: Reader, node: string, id: string): CheckRow | null {
  return reader.get(catalogChecks, [keyOfName(node), keyOfName(id)]) ?? null
}
