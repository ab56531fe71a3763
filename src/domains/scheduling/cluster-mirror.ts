/**
 * The nodes and what is taken of them, kept in memory beside the state: an evaluation reads none of the nodes that it does not place
 * on. Applied commands say whose rows to read anew, which `refresh` does; places that were given and are not in the state yet are taken
 * here already, so that the workers of this server do not all want the same.
 */
import type { Reader } from '../../fsm/domain.ts'
import type { AllocatedResources, AllocationRow, NewAllocation } from '../allocations/model.ts'
import { takesPlace } from '../allocations/model.ts'
import { allocationById, allocationsOnNode, allocationsOnNodes } from '../allocations/queries.ts'
import type { EvaluationRow } from '../evaluations/model.ts'
import { heldStormOf } from '../nodes/brake-queries.ts'
import { isHeldBack, type NodeRow } from '../nodes/model.ts'
import { nodeById, nodesWithPrefix } from '../nodes/queries.ts'
import type { Cluster, KnownNode } from '../../scheduler/decision.ts'
import { NodeUsage } from '../../scheduler/node-usage.ts'
import { scheduledNode, takesWork, type ScheduledNode } from '../../scheduler/scheduled-node.ts'
import type { Observed } from './observed-commands.ts'

type Mirrored = KnownNode &
  Pick<NodeRow, 'lost'> & { readonly takesWork: boolean; readonly modifyIndex: number }

export class ClusterMirror implements Cluster {
  readonly #nodes = new Map<string, Mirrored>()
  readonly #usage = new Map<string, NodeUsage>()
  /** By allocation, its node. */
  readonly #places = new Map<string, string>()
  readonly #staleNodes = new Set<string>()
  readonly #staleAllocations = new Set<string>()
  /** By datacenter, nodes that take work; null: to be made anew. */
  #ready: ReadonlyMap<string, readonly ScheduledNode[]> | null = null
  #isRead = false
  /** See `heldStormOf`. */
  #heldStorm: number | null = null

  /** Of one state, for a dry run. */
  static async of(reader: Reader): Promise<ClusterMirror> {
    const mirror = new ClusterMirror()
    await mirror.read(reader)
    mirror.refresh(reader)
    return mirror
  }

  get isRead(): boolean {
    return this.#isRead
  }

  /** At first. What changed since the reader's state was opened is marked already, and read anew. Returns the classes with nodes that take work. */
  async read(reader: Reader): Promise<ReadonlySet<string>> {
    for await (const page of nodesWithPrefix(reader, '')) {
      for (const row of page) if (!this.#nodes.has(row.id)) this.#keep(row)
    }
    for await (const page of allocationsOnNodes(reader)) {
      for (const row of page) this.#staleAllocations.add(row.id)
    }
    this.#isRead = true
    const taking = [...this.#nodes.values()].filter(({ takesWork }) => takesWork)
    return new Set(taking.map(({ node }) => node.computedClass))
  }

  /** Rows that an applied command changed. */
  changed({ nodes = [], allocations = [] }: Pick<Observed, 'nodes' | 'allocations'>): void {
    for (const id of nodes) this.#staleNodes.add(id)
    for (const id of allocations) this.#staleAllocations.add(id)
  }

  /** A plan was refused there: all of the node is read anew. */
  async doubt(reader: Reader, nodeId: string): Promise<void> {
    this.#staleNodes.add(nodeId)
    for await (const page of allocationsOnNode(reader, nodeId)) {
      for (const { id } of page) this.#staleAllocations.add(id)
    }
  }

  /** Reads anew what changed, on a state that is as new as what told of it. Returns the classes of nodes that got room. */
  refresh(reader: Reader): ReadonlySet<string> {
    this.#heldStorm = heldStormOf(reader)
    const gotRoom = new Set<string>()
    for (const id of this.#staleNodes) {
      const computedClass = this.#refreshNode(reader, id)
      if (computedClass !== null) gotRoom.add(computedClass)
    }
    this.#staleNodes.clear()
    for (const id of this.#staleAllocations) {
      const freed = this.#refreshAllocation(allocationById(reader, id), id)
      const node = freed === null ? undefined : this.#nodes.get(freed)
      if (node?.takesWork === true) gotRoom.add(node.node.computedClass)
    }
    this.#staleAllocations.clear()
    return gotRoom
  }

  /** A plan gives them places. */
  reserve(placed: Iterable<NewAllocation>): void {
    for (const { id, nodeId, resources } of placed) this.#take(id, nodeId, resources)
  }

  /** The places are theirs while the plan is on its way. Once it is applied or refused, they are read. */
  async whilePlaced<Result>(
    placed: readonly NewAllocation[],
    submit: () => Promise<Result>,
  ): Promise<Result> {
    this.reserve(placed)
    try {
      return await submit()
    } finally {
      this.changed({ allocations: placed.map(({ id }) => id) })
    }
  }

  /** As if the node were drained, and took no work any more: in a dry run. */
  drain(id: string): void {
    const known = this.#nodes.get(id)
    if (known === undefined) return
    this.#nodes.set(id, { ...known, takesWork: false })
    this.#ready = null
  }

  ready(matches: (datacenter: string) => boolean): ReturnType<Cluster['ready']> {
    this.#ready ??= Map.groupBy(
      [...this.#nodes.values()].flatMap(({ node, takesWork }) => (takesWork ? [node] : [])),
      ({ datacenter }) => datacenter,
    )
    const found = [...this.#ready].filter(([datacenter]) => matches(datacenter))
    const [only] = found
    return {
      nodes: found.length === 1 && only !== undefined ? only[1] : found.flatMap(([, some]) => some),
      available: found.map(([datacenter, some]) => [datacenter, some.length]),
    }
  }

  /** Whose work the storm brake holds is shown as if it were there: it stays as it is. */
  find(id: string): KnownNode | null {
    const known = this.#nodes.get(id) ?? null
    if (known === null || !isHeldBack(known, this.#heldStorm)) return known
    return { node: known.node, isDown: false, cutOffMs: null, drain: known.drain }
  }

  /** An evaluation that only says that a node is lost, while the storm brake holds its work. */
  holds({ triggeredBy, nodeId }: Pick<EvaluationRow, 'triggeredBy' | 'nodeId'>): boolean {
    const known = triggeredBy === 'node-update' ? this.#nodes.get(nodeId) : undefined
    return known !== undefined && isHeldBack(known, this.#heldStorm)
  }

  get heldStorm(): number | null {
    return this.#heldStorm
  }

  usageOf(id: string): NodeUsage {
    const usage = this.#usage.get(id) ?? new NodeUsage()
    this.#usage.set(id, usage)
    return usage
  }

  #keep(row: NodeRow): Mirrored {
    const mirrored = {
      node: scheduledNode(row),
      isDown: row.status === 'down',
      cutOffMs: row.status === 'disconnected' ? row.statusUpdatedMs : null,
      drain: row.drain,
      takesWork: takesWork(row),
      ...(row.lost !== undefined && { lost: row.lost }),
      modifyIndex: row.modifyIndex,
    }
    this.#nodes.set(row.id, mirrored)
    this.#ready = null
    return mirrored
  }

  /** Its class, where it can take more than before. */
  #refreshNode(reader: Reader, id: string): string | null {
    const row = nodeById(reader, id)
    const before = this.#nodes.get(id)
    // What runs there may be lost with it, or be known again as it is back.
    for (const allocation of this.#usage.get(id)?.ids ?? []) this.#staleAllocations.add(allocation)
    if (row === null) {
      this.#nodes.delete(id)
      this.#ready = null
      this.#forget(id)
      return null
    }
    if (before?.modifyIndex === row.modifyIndex) return null
    const after = this.#keep(row)
    return after.takesWork ? after.node.computedClass : null
  }

  /** The node that it does not take a part of any more; null: of none, or it still does. */
  #refreshAllocation(row: AllocationRow | null, id: string): string | null {
    if (row !== null && takesPlace(row)) {
      this.#take(id, row.nodeId, row.resources)
      return null
    }
    const nodeId = this.#places.get(id)
    if (nodeId === undefined) return null
    this.#places.delete(id)
    this.usageOf(nodeId).remove(id)
    this.#forget(nodeId)
    return nodeId
  }

  /** A node that is gone, once nothing is left of what ran there. */
  #forget(nodeId: string): void {
    if (!this.#nodes.has(nodeId) && this.#usage.get(nodeId)?.isEmpty === true) {
      this.#usage.delete(nodeId)
    }
  }

  #take(id: string, nodeId: string, resources: AllocatedResources): void {
    this.#places.set(id, nodeId)
    this.usageOf(nodeId).add(id, resources)
  }
}
