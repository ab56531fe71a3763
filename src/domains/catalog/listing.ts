/** Who may see nodes, services and checks in lists, and which of them a list is asked for. */
import type { Reader } from '../../fsm/domain.ts'
import type { May } from '../../rpc/list.ts'
import type { LeastRight, Requirement } from '../../rpc/method.ts'
import { toNode } from '../../rpc/requirements.ts'
import { defaultNamespace } from '../namespaces/model.ts'
import { keyOfName, type CheckRow, type NodeRow, type ServiceRow } from './model.ts'
import { nodeOf } from './queries.ts'

export function maySeeService(
  may: May,
  { node, name }: Pick<ServiceRow, 'node' | 'name'>,
): boolean {
  return may(readsNode(node)) && may(readsService(name))
}

export function maySeeCheck(may: May, { node, serviceId, serviceName }: CheckRow): boolean {
  return may(readsNode(node)) && (serviceId === '' || may(readsService(serviceName)))
}

/** Without these, to whatever it be, a caller is shown no node, and no check or service of one. */
export const leastForNodes: readonly LeastRight[] = [{ resource: 'node', access: 'read' }]
/** The same of services by themselves. */
export const leastForNames: readonly LeastRight[] = [{ resource: 'service', access: 'read' }]
/** The same of services with their nodes. */
export const leastForServices: readonly LeastRight[] = [...leastForNodes, ...leastForNames]

export function readsNode(node: string): Requirement {
  return toNode(keyOfName(node), 'read')
}

export function readsService(service: string): Requirement {
  return { resource: 'service', namespace: defaultNamespace, service, access: 'read' }
}

/** As one of its service, else as one of its node: where a list is of one agent alone. */
export function readsCheck({ node, serviceId, serviceName }: CheckRow): Requirement {
  return serviceId === '' ? readsNode(node) : readsService(serviceName)
}

/** In any letter case, as names match. */
export function begins(name: string, prefix: string): boolean {
  return prefix === '' || keyOfName(name).startsWith(keyOfName(prefix))
}

/** Whether a node has all these pairs in its meta. */
export function hasMeta(
  { meta }: NodeRow,
  wanted: readonly (readonly [string, string])[],
): boolean {
  return wanted.every(([key, value]) => meta.some(([name, held]) => name === key && held === value))
}

/** Tags match in any letter case. */
function hasTags({ tags }: Pick<ServiceRow, 'tags'>, wanted: readonly string[]): boolean {
  const held = tags.map((tag) => tag.toLowerCase())
  return wanted.every((tag) => held.includes(tag.toLowerCase()))
}

export type WantedInstances = {
  readonly tags: readonly string[]
  readonly meta: readonly (readonly [string, string])[]
  /** Of the node's name. */
  readonly prefix: string
}

/** The node of an instance that is wanted, and that the caller may see; else null. */
export function nodeOfInstance(
  reader: Reader,
  row: ServiceRow,
  { tags, meta, prefix }: WantedInstances,
  may: May,
): NodeRow | null {
  const node = begins(row.node, prefix) ? nodeOf(reader, row.node) : null
  if (node === null || !hasTags(row, tags) || !hasMeta(node, meta)) return null
  return maySeeService(may, row) ? node : null
}
