/**
 * Drains: the leader moves work away from nodes that an operator wants empty, no faster than the groups of jobs allow, and ends a drain
 * once nothing is left that it has to stop. This file is what one look at the state leads to.
 *
 * A drain is a part of its node's record: a new leader carries on.
 */
import { isTerminal, type AllocationRow } from '../allocations/model.ts'
import type { DrainStrategy, NodeRow } from '../nodes/model.ts'

/** An allocation that its agent has not reported as ended, and of which kind its job is. */
export type Draining = {
  readonly row: AllocationRow
  readonly kind: 'service' | 'batch' | 'system'
}

export type DrainingNode = {
  readonly node: NodeRow
  readonly left: readonly Draining[]
  /** The end of its time stopped something, which has ended since. */
  readonly hasForced: boolean
}

/** How many of a group have to stay, and how many are judged and stay as they are; by `groupKeyOf`. */
export type GroupRoom = { readonly judged: number; readonly stay: number }

export function groupKeyOf({
  namespace,
  jobId,
  group,
}: Pick<AllocationRow, 'namespace' | 'jobId' | 'group'>): string {
  return JSON.stringify([namespace, jobId, group])
}

/**
 * It counts in its group: its agent has said whether it is healthy, whatever it said. What is unhealthy may serve all the same, and would
 * hold back the drain for good if only the healthy counted.
 */
export function isJudged(row: AllocationRow): boolean {
  return row.health !== null && !row.migrate && !isTerminal(row)
}

/** It is to be marked, and is not yet. */
export function isUnmarked({ row }: Draining): boolean {
  return !row.migrate && !isTerminal(row)
}

export type DrainStep = {
  /** By node. */
  readonly move: readonly { readonly node: string; readonly ids: readonly string[] }[]
  readonly over: readonly { readonly id: string; readonly deadlineReached: boolean }[]
  /** When the next deadline is; Infinity: there is none. */
  readonly nextMs: number
}

export function drainStep(
  nodes: readonly DrainingNode[],
  groups: ReadonlyMap<string, GroupRoom>,
  nowMs: number,
): DrainStep {
  const room = new Map([...groups].map(([key, { judged, stay }]) => [key, judged - stay]))
  const move: { node: string; ids: readonly string[] }[] = []
  const over: { id: string; deadlineReached: boolean }[] = []
  let nextMs = Infinity
  for (const { node, left, hasForced } of nodes) {
    const { drain } = node
    if (drain === null) continue
    const isForced = drain.forceMs !== null && drain.forceMs <= nowMs
    const concerned = concernedBy(drain, left)
    if (concerned.length === 0) {
      over.push({ id: node.id, deadlineReached: hasForced })
      continue
    }
    if (!isForced && drain.forceMs !== null) nextMs = Math.min(nextMs, drain.forceMs)
    const ids = markedNow(concerned, isForced, room).map(({ row }) => row.id)
    if (ids.length > 0) move.push({ node: node.id, ids })
  }
  return { move, over, nextMs }
}

/** What the drain moves or stops. */
export function concernedBy(
  { ignoreSystemJobs }: DrainStrategy,
  left: readonly Draining[],
): readonly Draining[] {
  return left.filter(({ kind }) => kind !== 'system' || !ignoreSystemJobs)
}

/** What leaves the node with this look. What has to wait is looked at again when something of it changed. */
function markedNow(
  left: readonly Draining[],
  isForced: boolean,
  room: Map<string, number>,
): readonly Draining[] {
  const unmarked = left.filter(isUnmarked)
  if (isForced) return unmarked
  // What runs on every node serves the others to the end.
  if (left.every(({ kind }) => kind === 'system')) return unmarked
  // The unhealthy first: they are missed the least.
  const inTurn = unmarked.toSorted((one, other) => healthOf(one) - healthOf(other))
  return inTurn.filter(({ kind, row }) => {
    // Batch work may come to its end.
    if (kind !== 'service') return false
    const key = groupKeyOf(row)
    const left = room.get(key) ?? 0
    room.set(key, left - 1)
    return left > 0
  })
}

function healthOf({ row }: Draining): number {
  return Number(row.health?.healthy !== false)
}
