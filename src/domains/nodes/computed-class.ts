/**
 * The computed class of a node: nodes of one class are alike for every constraint that is not about a single machine, so one of
 * them answers for all. Of datacenter, class, attributes and metadata, without those below `unique.`.
 */
import { createHash } from 'node:crypto'
import type { NodeSpec } from './model.ts'

export function computedClassOf({ datacenter, nodeClass, attributes, meta }: NodeSpec): string {
  const alike = (pairs: NodeSpec['meta']) =>
    pairs
      .filter(([name]) => !name.startsWith('unique.'))
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
  const text = JSON.stringify([datacenter, nodeClass, alike(attributes), alike(meta)])
  const digest = createHash('sha256').update(text).digest()
  return `v1:${digest.readBigUInt64BE()}`
}
