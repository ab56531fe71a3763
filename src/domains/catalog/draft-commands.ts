/**
 * What one entry makes of the catalog, put together while it loads: rows to write without their indexes, rows to remove,
 * and the losses that follow. A record that says what it said before is left alone, so that no index moves.
 */
import type { Change, Happening, Reader, Table } from '../../fsm/domain.ts'
import { allOf } from '../../lib/pages.ts'
import { put, remove } from '../define.ts'
import { factsOf, type Loss } from './fact-model.ts'
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
import { nodeById } from './queries.ts'
import { catalogChecks, catalogNodes, catalogServices } from './table.ts'

export type Draft<Row> = Omit<Row, 'createIndex' | 'modifyIndex'>

/** A record as the state holds it: what a draft says, and the indexes. */
export type Indexed<Spec> = Spec & { readonly createIndex: number; readonly modifyIndex: number }

/** A record as the state holds it, and as it stands by now: null where it is not. */
export type Standing<Spec> = {
  readonly before: Indexed<Spec> | undefined
  readonly after: Spec | null
}

export class CatalogDraft {
  readonly #reader: Reader
  readonly #nodes = new Map<string, Standing<Draft<NodeRow>>>()
  readonly #services = new Map<string, Standing<Draft<ServiceRow>>>()
  readonly #checks = new Map<string, Standing<Draft<CheckRow>>>()
  readonly #losses = new Map<string, Set<string> | 'all'>()

  constructor(reader: Reader) {
    this.#reader = reader
  }

  /** That the cluster runs at. */
  get commandVersion(): number {
    return this.#reader.commandVersion
  }

  node(name: string): Draft<NodeRow> | null {
    return this.standingNode(name).after
  }

  standingNode(name: string): Standing<Draft<NodeRow>> {
    const key = keyOfName(name)
    return this.#nodes.get(key) ?? standing(this.#reader.get(catalogNodes, [key]))
  }

  async nodeById(id: string): Promise<Draft<NodeRow> | null> {
    const row = await nodeById(this.#reader, id)
    return row === null ? null : this.node(row.name)
  }

  service(node: string, id: string): Draft<ServiceRow> | null {
    return this.standingService(node, id).after
  }

  standingService(node: string, id: string): Standing<Draft<ServiceRow>> {
    const key = keyOfName(node)
    const pending = this.#services.get(pairKey(key, id))
    return pending ?? standing(this.#reader.get(catalogServices, [key, id]))
  }

  check(node: string, id: string): Draft<CheckRow> | null {
    return this.standingCheck(node, id).after
  }

  standingCheck(node: string, id: string): Standing<Draft<CheckRow>> {
    const [key, checkKey] = [keyOfName(node), keyOfName(id)]
    const pending = this.#checks.get(pairKey(key, checkKey))
    return pending ?? standing(this.#reader.get(catalogChecks, [key, checkKey]))
  }

  putNode(spec: NodeSpec): void {
    const key = keyOfName(spec.name)
    this.#nodes.set(key, { before: this.#reader.get(catalogNodes, [key]), after: spec })
  }

  /** Its checks follow a service that changed its name or its tags. */
  async putService(node: string, spec: ServiceSpec): Promise<void> {
    const { before, after: known } = this.standingService(node, spec.id)
    this.#services.set(pairKey(keyOfName(node), spec.id), { before, after: { ...spec, node } })
    if (known === null) return
    if (known.name === spec.name && sameRecord({ tags: known.tags }, { tags: spec.tags })) return
    for (const check of await this.#checksOfService(node, spec.id)) {
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
    const { before, after } = this.standingService(node, id)
    if (after === null) return
    this.#services.set(pairKey(keyOfName(node), id), { before, after: null })
    for (const check of await this.#checksOfService(node, id)) this.removeCheck(node, check.id)
  }

  removeCheck(node: string, id: string): void {
    const key = keyOfName(node)
    const checkKey = keyOfName(id)
    const { before, after } = this.standingCheck(node, id)
    if (after === null) return
    this.#checks.set(pairKey(key, checkKey), { before, after: null })
    if (before !== undefined) this.#lose(key, checkKey)
  }

  losses(): readonly Loss[] {
    return [...this.#losses].map(([node, checkIds]) => ({
      node,
      checkIds: checkIds === 'all' ? checkIds : [...checkIds],
    }))
  }

  /** `losses`, for reactions. */
  facts(): readonly Happening[] {
    return factsOf(this.losses())
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

  /** As they stand by now. */
  async #checksOfService(node: string, id: string): Promise<readonly Draft<CheckRow>[]> {
    const key = keyOfName(node)
    const isOf = (check: Draft<CheckRow>) => check.serviceId === id
    const found = [...this.#checks].flatMap(([pair, { after }]) =>
      after !== null && pair.startsWith(pairKey(key, '')) && isOf(after) ? [after] : [],
    )
    const before = this.#reader.get(catalogServices, [key, id])
    if (before === undefined) return found
    const prefix = [keyOfName(before.name), key]
    const isUntouched = (row: CheckRow) => !this.#checks.has(pairKey(key, keyOfName(row.id)))
    const stored = await allOf(this.#reader.pagesBy(catalogChecks, 'byService', { prefix }))
    return [...found, ...stored.filter((row) => isOf(row) && isUntouched(row))]
  }
}

function changesOf<Spec extends object>(
  table: Table<Indexed<Spec>>,
  pending: ReadonlyMap<string, Standing<Spec>>,
  index: number,
): readonly Change[] {
  return [...pending.values()].flatMap((standing) => {
    const { before } = standing
    const row = indexed(standing, index)
    if (row === null) return before === undefined ? [] : [remove(table, table.key(before))]
    return row === before ? [] : [put(table, row)]
  })
}

/** As the entry at `index` leaves it: with new indexes only if it says something else than before. */
export function indexed<Spec extends object>(
  { before, after }: Standing<Spec>,
  index: number,
): Indexed<Spec> | null {
  if (after === null) return null
  if (before !== undefined && sameRecord<object>(before, after)) return before
  return { ...after, createIndex: before?.createIndex ?? index, modifyIndex: index }
}

function standing<Spec>(row: Indexed<Spec> | undefined): Standing<Spec> {
  return { before: row, after: row ?? null }
}

/** Neither part of it holds a NUL: names are printable. */
function pairKey(node: string, id: string): string {
  return `${node}\0${id}`
}
