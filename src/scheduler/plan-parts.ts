/**
 * A decision as plans of bounded size: an entry of the log holds so many rows that applying it does not hold others up. What is stopped
 * comes first, so that a name is free before it is given again.
 */
import type { Plan } from '../domains/allocations/plan-model.ts'
import type { Decision } from './decision.ts'

/** Well below what a plan may hold, see `planRowsMax`. */
export const partRowsMax = 128

export type PlanPart = Pick<
  Plan,
  'place' | 'update' | 'stop' | 'unknown' | 'followUp' | 'deployment' | 'deploymentEnds'
>

type Rows = Pick<PlanPart, 'place' | 'update' | 'stop' | 'unknown' | 'followUp'>

export type PartsOptions = {
  /** Which evaluation looks at some again. */
  readonly followUp?: Plan['followUp'] | null
  readonly rowsMax?: number
}

/** At least one, which may be empty. A deployment that is new or changed is in each: entries that are under way at once come in any order. */
export function planParts(
  decision: Decision,
  { followUp = null, rowsMax = partRowsMax }: PartsOptions = {},
): PlanPart[] {
  const { stop, update, unknown, place, deployment } = decision
  const { create, resize, ends } = deployment
  const named = create ?? resize
  const nothing = (): PlanPart => ({
    place: [],
    update: [],
    stop: [],
    ...(named !== null && { deployment: { ...named, groups: [...named.groups] } }),
  })
  const parts: PlanPart[] = []
  let part = nothing()
  if (ends.length > 0) part = { ...part, deploymentEnds: [...ends] }
  const add = (rows: Partial<Rows>) => {
    const count = countOf(part)
    if (count > 0 && count + countOf(rows) > rowsMax) {
      parts.push(part)
      part = nothing()
    }
    if (rows.unknown !== undefined) {
      part = { ...part, unknown: [...(part.unknown ?? []), ...rows.unknown] }
    }
    if (rows.followUp !== undefined) {
      const ids = [...(part.followUp?.ids ?? []), ...rows.followUp.ids]
      part = { ...part, followUp: { ...rows.followUp, ids } }
    }
    part.place.push(...(rows.place ?? []))
    part.update.push(...(rows.update ?? []))
    part.stop.push(...(rows.stop ?? []))
  }
  for (const one of stop) add({ stop: [one] })
  for (const one of unknown) add({ unknown: [one] })
  for (const one of update) add({ update: [one] })
  for (const { allocation, stop: before } of place) {
    add({ place: [allocation], stop: before === null ? [] : [before] })
  }
  for (const id of followUp?.ids ?? []) {
    if (followUp !== null) add({ followUp: { ...followUp, ids: [id] } })
  }
  return [...parts, part]
}

function countOf({
  place = [],
  update = [],
  stop = [],
  unknown = [],
  followUp,
}: Partial<Rows>): number {
  const preempted = place.reduce((sum, { preempts = [] }) => sum + preempts.length, 0)
  const named = unknown.length + (followUp?.ids.length ?? 0)
  return place.length + preempted + update.length + stop.length + named
}
