/** What constraints, affinities and spreads look at: `${node.*}`, `${attr.*}` and `${meta.*}` of a node, or a plain text. */
import type { ScheduledNode } from './scheduled-node.ts'

const reference = /^\$\{(.*)\}$/s

/** Undefined: the node has none. */
export function targetOf(target: string, node: ScheduledNode): string | undefined {
  const name = reference.exec(target)?.[1]
  if (name === undefined) return target
  switch (name) {
    case 'node.unique.id':
      return node.id
    case 'node.unique.name':
      return node.name
    case 'node.datacenter':
      return node.datacenter
    case 'node.class':
      return node.nodeClass
    default:
      if (name.startsWith('attr.')) return node.attributes.get(name.slice('attr.'.length))
      if (name.startsWith('meta.')) return node.meta.get(name.slice('meta.'.length))
      return undefined
  }
}

/** Whether it tells single machines apart, so that nodes of one class may differ in it. */
export function isUniqueTarget(target: string): boolean {
  return /^\$\{(node|attr|meta)\.unique\./.test(target)
}
