/** Of allocations of older versions, the one that stands for the version that is to go on. */
import type { AllocationRow } from '../domains/allocations/model.ts'

/** Of the version that most of them run, the newer one of two alike. Null: there are none. */
export function mostRun(rows: readonly AllocationRow[]): AllocationRow | null {
  const [most] = [...Map.groupBy(rows, ({ jobVersion }) => jobVersion).values()].toSorted(
    (left, right) => right.length - left.length || versionOf(right) - versionOf(left),
  )
  return most?.[0] ?? null
}

/** That was placed last. */
export function lastOf(rows: readonly AllocationRow[]): AllocationRow | null {
  return rows.reduce<AllocationRow | null>(
    (last, row) => (last === null || row.createIndex > last.createIndex ? row : last),
    null,
  )
}

function versionOf([row]: readonly AllocationRow[]): number {
  return row?.jobVersion ?? 0
}
