/** What runs of each group of a job, and how it was scaled. */
import { Type } from 'typebox'
import { defineQuery } from '../../rpc/method.ts'
import { jobOf, newestVersionOf, scalingIndex, scalingsOf } from '../jobs/queries.ts'
import type { ScalingEvent } from '../jobs/scale-model.ts'
import { liveAllocationsOfJob } from './queries.ts'
import { allocations } from './table.ts'

const Word = Type.String({ maxLength: 1_024 })

type GroupScale = {
  readonly desired: number
  placed: number
  running: number
  healthy: number
  unhealthy: number
  events: readonly ScalingEvent[]
}

export type ScaleEvent = ScalingEvent

type Job = NonNullable<ReturnType<typeof jobOf>>

export type JobScale = { readonly job: Job; readonly groups: ReadonlyMap<string, GroupScale> }

export const scaleStatus = defineQuery({
  kind: 'query',
  name: 'allocations.scaleStatus',
  args: Type.Object({ namespace: Word, id: Word }),
  requires: ({ namespace }) => ({ resource: 'namespace', namespace, access: 'read-job-scaling' }),
  query: async (reader, { namespace, id }) => {
    const job = jobOf(reader, namespace, id)
    const spec = job === null ? undefined : newestVersionOf(reader, job)?.spec
    if (job === null || spec === undefined) {
      return { value: null, index: scalingIndex(reader) }
    }
    const groups = new Map<string, GroupScale>(
      spec.TaskGroups.map(({ Name, Count: desired }) => [
        Name,
        { desired, placed: 0, running: 0, healthy: 0, unhealthy: 0, events: [] },
      ]),
    )
    for await (const page of liveAllocationsOfJob(reader, { namespace, jobId: id })) {
      for (const row of page) {
        const group = groups.get(row.group)
        if (group === undefined) continue
        group.placed += 1
        if (row.clientStatus === 'running') group.running += 1
        if (row.health?.healthy === true) group.healthy += 1
        if (row.health?.healthy === false) group.unhealthy += 1
      }
    }
    for (const row of await scalingsOf(reader, namespace, id)) {
      const group = groups.get(row.group)
      if (group !== undefined) group.events = row.events
    }
    const value: JobScale = { job, groups }
    return { value, index: Math.max(scalingIndex(reader), reader.tableIndex(allocations)) }
  },
})
