/**
 * What one entry makes of the catalog, put together while it loads: rows to write without their indexes, rows to remove,
 * and the losses that follow. A record that says what it said before is left alone, so that no index moves.
 */
import type { Change, Reader, Table } from '../../fsm/domain.ts'
import { put, remove } from '../define.ts'
import type { Loss } from './cascade-model.ts'
import {
  keyOfName,
  sameRecord,
  type CheckRow,
  type CheckSpec,
  type NodeRow,
  type NodeSpec,
  type ServiceRow,
  type ServiceSpec,
} from './model.ts'
import { catalogChecks, catalogNodes, catalogServices } from './table.ts'

type Draft<Row> = Omit<Row, 'createIndex' | 'modifyIndex'>

/** null: removed. `before`: what the state holds. */
type Pending<Row> = { readonly before: Row | undefined; readonly after: Draft<Row> | null }

export class CatalogDraft {
  readonly #reader: Reader
  readonly #nodes = new Map<string, Pending<NodeRow>>()
  readonly #services = new Map<string, Pending<ServiceRow>>()
  readonly #checks = new Map<string, Pending<CheckRow>>()
  readonly #losses = new Map<string, Set<string> | 'all'>()

  constructor(reader: Reader) {
    this.#reader = reader
  }

  node(name: string): Draft<NodeRow> | null {
    const key = keyOfName(name)
    const pending = this.#nodes.get(key)
    if (pending !== undefined) return pending.after
    return this.#reader.get(catalogNodes, [key]) ?? null
  }

  async nodeById(id: string): Promise<Draft<NodeRow> | null> {
    for await (const page of this.#reader.pagesBy(catalogNodes, 'byId', { prefix: [id] })) {
      for (const row of page) return this.node(row.name)
    }
    return null
  }

  service(node: string, id: string): Draft<ServiceRow> | null {
    const pending = this.#services.get(pairKey(keyOfName(node), id))
    if (pending !== undefined) return pending.after
    return this.#reader.get(catalogServices, [keyOfName(node), id]) ?? null
  }

  check(node: string, id: string): Draft<CheckRow> | null {
    const pending = this.#checks.get(pairKey(keyOfName(node), keyOfName(id)))
    if (pending !== undefined) return pending.after
    return this.#reader.get(catalogChecks, [keyOfName(node), keyOfName(id)]) ?? null
  }

  putNode(spec: NodeSpec): void {
    const key = keyOfName(spec.name)
    this.#nodes.set(key, { before: this.#reader.get(catalogNodes, [key]), after: spec })
  }

  /** Its checks follow a service that changed its name or its tags. */
  async putService(node: string, spec: ServiceSpec): Promise<void> {
    const key = keyOfName(node)
    const before = this.#reader.get(catalogServices, [key, spec.id])
    this.#services.set(pairKey(key, spec.id), { before, after: { ...spec, node } })
    if (before === undefined) return
    if (before.name === spec.name && sameRecord({ tags: before.tags }, { tags: spec.tags })) return
    for (const check of await this.#checksOfService(before)) {
      this.#setCheck({ ...check, serviceName: spec.name, serviceTags: spec.tags })
    }
  }

  /** Its service is there, or `serviceId` is ''. */
  putCheck(node: string, spec: CheckSpec): void {
    const service = spec.serviceId === '' ? null : this.service(node, spec.serviceId)
    this.#setCheck({
      ...spec,
      node,
      serviceName: service?.name ?? '',
      serviceTags: service?.tags ?? [],
    })
  }

  /** With all that is on it, also what this very entry put there. */
  async removeNode(name: string): Promise<void> {
    const key = keyOfName(name)
    this.#nodes.set(key, { before: this.#reader.get(catalogNodes, [key]), after: null })
    for (const rows of [this.#services, this.#checks]) {
      for (const id of rows.keys()) if (id.startsWith(pairKey(key, ''))) rows.delete(id)
    }
    for await (const page of this.#reader.pages(catalogServices, { prefix: [key] })) {
      for (const row of page) this.#services.set(pairKey(key, row.id), { before: row, after: null })
    }
    for await (const page of this.#reader.pages(catalogChecks, { prefix: [key] })) {
      for (const row of page) {
        this.#checks.set(pairKey(key, keyOfName(row.id)), { before: row, after: null })
      }
    }
    this.#losses.set(key, 'all')
  }

  /** With its checks. */
  async removeService(node: string, id: string): Promise<void> {
    const key = keyOfName(node)
    const before = this.#reader.get(catalogServices, [key, id])
    if (before === undefined) return
    this.#services.set(pairKey(key, id), { before, after: null })
    for (const check of await this.#checksOfService(before)) this.removeCheck(node, check.id)
  }

  removeCheck(node: string, id: string): void {
    const key = keyOfName(node)
    const checkKey = keyOfName(id)
    const before = this.#reader.get(catalogChecks, [key, checkKey])
    if (before === undefined) return
    this.#checks.set(pairKey(key, checkKey), { before, after: null })
    this.#lose(key, checkKey)
  }

  losses(): readonly Loss[] {
    return [...this.#losses].map(([node, checkIds]) => ({
      node,
      checkIds: checkIds === 'all' ? checkIds : [...checkIds],
    }))
  }

  changes(index: number): readonly Change[] {
    return [
      ...changesOf(catalogNodes, this.#nodes, index),
      ...changesOf(catalogServices, this.#services, index),
      ...changesOf(catalogChecks, this.#checks, index),
    ]
  }

  #setCheck(after: Draft<CheckRow>): void {
    const key = keyOfName(after.node)
    const checkKey = keyOfName(after.id)
    const before = this.#reader.get(catalogChecks, [key, checkKey])
    this.#checks.set(pairKey(key, checkKey), { before, after })
    if (before === undefined) return
    // A check that moves to another service is gone from the one it was bound with.
    const turns = before.status !== 'critical' && after.status === 'critical'
    if (turns || before.serviceId !== after.serviceId) this.#lose(key, checkKey)
  }

  #lose(node: string, check: string): void {
    const lost = this.#losses.get(node)
    if (lost === 'all') return
    if (lost === undefined) this.#losses.set(node, new Set([check]))
    else lost.add(check)
  }

  async #checksOfService(service: ServiceRow): Promise<readonly CheckRow[]> {
    const found: CheckRow[] = []
    const prefix = [keyOfName(service.name), keyOfName(service.node)]
    for await (const page of this.#reader.pagesBy(catalogChecks, 'byService', { prefix })) {
      found.push(...page.filter(({ serviceId }) => serviceId === service.id))
    }
    return found
  }
}

function changesOf<Row extends { readonly createIndex: number; readonly modifyIndex: number }>(
  table: Table<Row>,
  pending: ReadonlyMap<string, Pending<Row>>,
  index: number,
): readonly Change[] {
  return [...pending.values()].flatMap(({ before, after }) => {
    if (after === null) return before === undefined ? [] : [remove(table, table.key(before))]
    if (before !== undefined && sameRecord<object>(before, after)) return []
    const indexes = { createIndex: before?.createIndex ?? index, modifyIndex: index }
    return [put<Row>(table, { ...after, ...indexes } as unknown as Row)]
  })
}

/** Neither part of it holds a NUL: names are printable. */
function pairKey(node: string, id: string): string {
  return `${node}\0${id}`
}
