/** Where the allocations of a job may go, and where they would rather go. */
import type { Static } from 'typebox'
import { block, list, Text, Whole, Word } from './schema-model.ts'

/** `LTarget` is what the node has, `RTarget` what is wanted of it. */
export const Constraint = block('JobConstraint', { LTarget: Word, RTarget: Text, Operand: Word })
export type Constraint = Readonly<Static<typeof Constraint>>

export const Affinity = block('JobAffinity', {
  LTarget: Word,
  RTarget: Text,
  Operand: Word,
  Weight: Whole,
})
export type Affinity = Readonly<Static<typeof Affinity>>

const SpreadTarget = block('JobSpreadTarget', { Value: Word, Percent: Whole })

export const Spread = block('JobSpread', {
  Attribute: Word,
  Weight: Whole,
  SpreadTarget: list(SpreadTarget),
})
export type Spread = Readonly<Static<typeof Spread>>
