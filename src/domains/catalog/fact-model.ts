/** What comes about with changes of the catalog, for reactions of later domains in the same entry. Names are in lower case. */
import { Type } from 'typebox'
import type { Happening } from '../../fsm/domain.ts'
import { defineFact, happened } from '../../fsm/fact.ts'
import { record } from '../../fsm/row-schema.ts'
import { nameLengthMax } from './model.ts'

/** In lower case, where one letter may be two or three. */
const NameKey = Type.String({ maxLength: 3 * nameLengthMax })

/** It is gone, with whatever lived on it. */
export const nodeLost = defineFact({
  name: 'catalog.nodeLost',
  payload: record({ node: NameKey }),
  key: ({ node }) => [node],
})

/** It turned critical, or is gone. */
export const checkLost = defineFact({
  name: 'catalog.checkLost',
  payload: record({ node: NameKey, check: NameKey }),
  key: ({ node, check }) => [node, check],
})

/** What one entry takes from a node. */
export type Loss = { readonly node: string; readonly checkIds: readonly string[] | 'all' }

export function factsOf(losses: readonly Loss[]): readonly Happening[] {
  return losses.flatMap(({ node, checkIds }) =>
    checkIds === 'all'
      ? [happened(nodeLost, { node })]
      : checkIds.map((check) => happened(checkLost, { node, check })),
  )
}
