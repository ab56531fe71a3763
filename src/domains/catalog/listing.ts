/** Lists as they are served: what the caller may not see is left out and said so, then filters, in turns with other work. */
import { setImmediate } from 'node:timers/promises'
import { MusterError } from '../../lib/errors.ts'
import type { Filter } from '../../rpc/filter/filter.ts'
import type { LeastRight, QueryContext, Requirement } from '../../rpc/method.ts'
import { defaultNamespace } from '../namespaces/model.ts'
import { keyOfName, type CheckRow, type NodeRow, type ServiceRow } from './model.ts'

/** Entries that one answer may have. */
export const listedMax = 200_000
/** Steps of filtering between two turns of other work: a few milliseconds. */
const stepsPerTurn = 500_000
const textBytesPerRecord = 512

export type ShownRecord = Readonly<Record<string, unknown>>

export type Listed<Value> = {
  readonly value: Value
  /** Something was left out that the caller may not see. */
  readonly filtered: boolean
}

/** One answer being put together: decides about each record, and gives way to others now and then. */
export class Listing {
  readonly #context: QueryContext
  readonly #filter: Filter | null
  readonly #recordsPerTurn: number
  #count = 0
  #seen = 0
  filtered = false

  constructor(context: QueryContext, filter: Filter | null) {
    this.#context = context
    this.#filter = filter
    const steps = (filter?.weight ?? 1) * textBytesPerRecord
    this.#recordsPerTurn = Math.max(1, Math.floor(stepsPerTurn / steps))
  }

  maySeeNode(node: NodeRow | string): boolean {
    return this.#may(readsNode(typeof node === 'string' ? node : node.name))
  }

  maySeeService({ node, name }: Pick<ServiceRow, 'node' | 'name'>): boolean {
    return this.#may(readsNode(node)) && this.#may(readsService(name))
  }

  maySeeCheck({ node, serviceId, serviceName }: CheckRow): boolean {
    return this.#may(readsNode(node)) && (serviceId === '' || this.#may(readsService(serviceName)))
  }

  /** Throws `too_large` when the answer grows beyond its bound, `cancelled` when the caller is gone. */
  async keeps(record: ShownRecord): Promise<boolean> {
    if (++this.#seen % this.#recordsPerTurn === 0) {
      await setImmediate()
      if (this.#context.signal.aborted) throw new MusterError('cancelled', 'the caller went away')
    }
    if (this.#filter !== null && !this.#filter.matches(record)) return false
    if (++this.#count > listedMax) {
      throw new MusterError('too_large', `the list has more than ${listedMax} entries: filter it`)
    }
    return true
  }

  #may(requirement: Requirement): boolean {
    const may = this.#context.may(requirement)
    if (!may) this.filtered = true
    return may
  }
}

/** Without these, to whatever it be, a caller is shown no node, and no check or service of one. */
export const leastForNodes: readonly LeastRight[] = [{ resource: 'node', access: 'read' }]
/** The same of services. */
export const leastForServices: readonly LeastRight[] = [
  ...leastForNodes,
  { resource: 'service', access: 'read' },
]

export function readsNode(node: string): Requirement {
  return { resource: 'node', node: keyOfName(node), access: 'read' }
}

export function readsService(service: string): Requirement {
  return { resource: 'service', namespace: defaultNamespace, service, access: 'read' }
}

/** Whether a node has all these pairs in its meta. */
export function hasMeta(
  { meta }: NodeRow,
  wanted: readonly (readonly [string, string])[],
): boolean {
  return wanted.every(([key, value]) => meta.some(([name, held]) => name === key && held === value))
}

/** Tags match in any letter case. */
export function hasTags({ tags }: Pick<ServiceRow, 'tags'>, wanted: readonly string[]): boolean {
  const held = tags.map((tag) => tag.toLowerCase())
  return wanted.every((tag) => held.includes(tag.toLowerCase()))
}
