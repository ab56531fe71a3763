/** Defaults of constraints, affinities and spreads. */
import type { Draft } from './draft-model.ts'
import type { Affinity, Constraint, Spread } from './placement-model.ts'

export function constraintWithDefaults(draft: Draft<Constraint>): Constraint {
  return { LTarget: '', RTarget: '', Operand: '', ...draft }
}

export function affinityWithDefaults(draft: Draft<Affinity>): Affinity {
  return { LTarget: '', RTarget: '', Operand: '=', Weight: 50, ...draft }
}

export function spreadWithDefaults(draft: Draft<Spread>): Spread {
  const targets = draft.SpreadTarget ?? []
  return {
    Attribute: draft.Attribute ?? '',
    Weight: draft.Weight ?? 50,
    SpreadTarget: targets.map((target) => ({ Value: '', Percent: 0, ...target })),
  }
}
