/** Transactions over keys and the catalog: operations of both kinds in one list, and what became of them. */
import { Type, type Static } from 'typebox'
import {
  CatalogOperation,
  type CatalogRefusal,
  type CatalogShown,
} from '../catalog/operation-model.ts'
import { txnOperationsMax } from './model.ts'
import { Operation, type Refusal, type ShownEntry } from './operation-model.ts'

export type { CatalogOperation, CatalogRefusal, CatalogShown }

export const KeyStep = Type.Object({ type: Type.Literal('key'), operation: Operation })
export type KeyStep = Static<typeof KeyStep>

/** One operation of a transaction, on a key or on the catalog. */
export const Step = Type.Union([KeyStep, CatalogOperation])
export type Step = Static<typeof Step>

export const Steps = Type.Array(Step, { maxItems: txnOperationsMax })

export type ShownStep = { readonly kind: 'key'; readonly entry: ShownEntry } | CatalogShown

export type StepRefusal =
  | Refusal
  | CatalogRefusal
  /** Another operation ends the session that this one names, or that holds its key. */
  | { readonly type: 'sessionEnds' }

export type RefusedStep = { readonly at: number; readonly refusal: StepRefusal }

/** All of them took place, or none. */
export type StepsOutcome =
  | { readonly type: 'done'; readonly shown: readonly ShownStep[] }
  | { readonly type: 'refused'; readonly refused: readonly RefusedStep[] }

export function isKeyStep(step: Step): step is KeyStep {
  return step.type === 'key'
}
