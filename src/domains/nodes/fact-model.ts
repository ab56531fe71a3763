/** What comes about with changes of client nodes, for reactions of later domains in the same entry. */
import { Type, type Static } from 'typebox'
import type { Happening } from '../../fsm/domain.ts'
import { defineFact, happened } from '../../fsm/fact.ts'
import { record } from '../../fsm/row-schema.ts'
import { NodeId } from './model.ts'

const AboutNode = record({
  node: NodeId,
  /** It was only looked at, and is as it was. Since `linkedWorkloadsVersion`. */
  unchanged: Type.Optional(Type.Literal(true)),
})
export type AboutNode = Static<typeof AboutNode>

/** The jobs that have work on it are to be looked at again. */
export const nodeChanged = defineFact({
  name: 'nodes.changed',
  payload: AboutNode,
  key: ({ node }) => [node],
})

/** It takes work, or may take more than before: jobs that run on every node are to be looked at. */
export const nodeOffers = defineFact({
  name: 'nodes.offers',
  payload: AboutNode,
  key: ({ node }) => [node],
})

/** `offers`: it is there, and may take work. */
export function factsOf(
  node: string,
  { offers, unchanged = false }: { readonly offers: boolean; readonly unchanged?: boolean },
): readonly Happening[] {
  const about: AboutNode = { node, ...(unchanged && { unchanged }) }
  const changed = happened(nodeChanged, about)
  return offers ? [changed, happened(nodeOffers, about)] : [changed]
}
