/** What comes about with changes of client nodes, for reactions of later domains in the same entry. */
import type { Happening } from '../../fsm/domain.ts'
import { defineFact, happened } from '../../fsm/fact.ts'
import { record } from '../../fsm/row-schema.ts'
import { NodeId } from './model.ts'

/** The jobs that have work on it are to be looked at again. */
export const nodeChanged = defineFact({
  name: 'nodes.changed',
  payload: record({ node: NodeId }),
  key: ({ node }) => [node],
})

/** It takes work, or may take more than before: jobs that run on every node are to be looked at. */
export const nodeOffers = defineFact({
  name: 'nodes.offers',
  payload: record({ node: NodeId }),
  key: ({ node }) => [node],
})

/** `offers`: it is there, and may take work. */
export function factsOf(
  node: string,
  { offers }: { readonly offers: boolean },
): readonly Happening[] {
  const changed = happened(nodeChanged, { node })
  return offers ? [changed, happened(nodeOffers, { node })] : [changed]
}
