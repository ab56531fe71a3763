/** Operations on the catalog inside of a transaction: their words, and what becomes of each. */
import { Type, type Static } from 'typebox'
import {
  CheckSpec,
  Name,
  NodeSpec,
  ServiceSpec,
  type CheckRow,
  type NodeRow,
  type ServiceRow,
} from './model.ts'

/** Takes place only if the record has this ModifyIndex, 0: if there is none; null: in any case. */
const Expected = { index: Type.Union([Type.Null(), Type.Integer({ minimum: 0 })]) }
const OnNode = { node: Name }
const Record = { node: Name, id: Name }

export const CatalogOperation = Type.Union([
  Type.Object({ type: Type.Literal('put-node'), spec: NodeSpec, ...Expected }),
  Type.Object({ type: Type.Literal('get-node'), ...OnNode }),
  Type.Object({ type: Type.Literal('delete-node'), ...OnNode, ...Expected }),
  Type.Object({ type: Type.Literal('put-service'), ...OnNode, spec: ServiceSpec, ...Expected }),
  Type.Object({ type: Type.Literal('get-service'), ...Record }),
  Type.Object({ type: Type.Literal('delete-service'), ...Record, ...Expected }),
  Type.Object({ type: Type.Literal('put-check'), ...OnNode, spec: CheckSpec, ...Expected }),
  Type.Object({ type: Type.Literal('get-check'), ...Record }),
  Type.Object({ type: Type.Literal('delete-check'), ...Record, ...Expected }),
])

export type CatalogOperation = Static<typeof CatalogOperation>

/** The record that an operation wrote or read, as the transaction leaves it. */
export type CatalogShown =
  | { readonly kind: 'node'; readonly row: NodeRow }
  | { readonly kind: 'service'; readonly row: ServiceRow }
  | { readonly kind: 'check'; readonly row: CheckRow }

/** Why an operation on the catalog did not take place. */
export type CatalogRefusal =
  | { readonly type: 'noRecord' }
  /** The record has another index. */
  | { readonly type: 'otherIndex' }
  | { readonly type: 'noNode' }
  | { readonly type: 'noService'; readonly service: string }
  | { readonly type: 'noAddress' }
  | { readonly type: 'nameTaken'; readonly id: string }

export function isCatalogRead({ type }: CatalogOperation): boolean {
  return type === 'get-node' || type === 'get-service' || type === 'get-check'
}
