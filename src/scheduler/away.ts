/** Allocations that are cut off with their nodes and may come back: what a plan says of them. */
import type { AllocationRow } from '../domains/allocations/model.ts'
import type { Held } from './held.ts'
import type { Awaiting, GroupPlan } from './scheduled-job.ts'
import { earliest } from './times.ts'

export type Away = Pick<Held, 'row' | 'kind' | 'atMs'>

export function away(row: AllocationRow, untilMs: number): Away {
  return { row, kind: 'away', atMs: untilMs }
}

/** Of those that hold places, or stand aside, the ones that are looked at again. */
export function awaitingOf(all: readonly Away[]): readonly Awaiting[] {
  return all.flatMap(({ row: { id, followupEval }, atMs }) =>
    atMs === null ? [] : [{ id, followupEval, atMs }],
  )
}

/** Of those that hold places or stand aside. */
export function cutOff(all: readonly Away[]): Pick<GroupPlan, 'unknown' | 'cutOffUntilMs'> {
  const out = all.filter(({ kind }) => kind === 'away')
  return {
    unknown: out.flatMap(({ row }) => (row.clientStatus === 'unknown' ? [] : [row])),
    cutOffUntilMs: earliest(out.flatMap(({ atMs }) => atMs ?? [])),
  }
}
