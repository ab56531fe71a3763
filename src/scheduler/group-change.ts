/**
 * Whether an allocation of one version of a job may run on as one of another: in place, or by a new one instead. In place goes
 * what its tasks do not notice while they run.
 */
import type { JobSpec, TaskGroup } from '../domains/jobs/model.ts'
import { laterMembersOfGroup } from '../domains/jobs/later-model.ts'
import { isJsonObject } from '../lib/json-object.ts'
import { constraintsOf } from './feasible.ts'

export type GroupChange =
  /** `looksAgain`: its node may not do any more, for its constraints are others, or its agent is to know more. */
  { readonly type: 'inPlace'; readonly looksAgain: boolean } | { readonly type: 'destructive' }

type OfJob = { readonly job: JobSpec; readonly group: TaskGroup }

/** Members of a task that it does not notice while it runs, without what they say. */
const unnoticed = {
  KillTimeout: 0,
  ShutdownDelay: 0,
  RestartPolicy: null,
  Services: [],
  Constraints: [],
}
export const unnoticedMembers: ReadonlySet<string> = new Set(Object.keys(unnoticed))

export function groupChange(old: OfJob, now: OfJob): GroupChange {
  const [before, after] = [inOrder(old), inOrder(now)]
  if (textOf(seenByTasks(before)) !== textOf(seenByTasks(after))) return { type: 'destructive' }
  const rules = ({ job, group }: OfJob) =>
    textOf([constraintsOf(job, group), job.Datacenters, laterMembersOfGroup(group)])
  return { type: 'inPlace', looksAgain: rules(before) !== rules(after) }
}

/** Tasks are who they are by their names, in whatever order they are written. */
function inOrder({ job, group }: OfJob): OfJob {
  const Tasks = group.Tasks.toSorted((left, right) => (left.Name < right.Name ? -1 : 1))
  return { job, group: { ...group, Tasks } }
}

/** All but counts, policies, services and constraints. */
function seenByTasks({ job, group }: OfJob) {
  return {
    name: job.Name,
    region: job.Region,
    type: job.Type,
    meta: job.Meta,
    affinities: [job.Affinities, group.Affinities],
    spreads: [job.Spreads, group.Spreads],
    groupMeta: group.Meta,
    networks: group.Networks,
    volumes: group.Volumes,
    disk: group.EphemeralDisk,
    tasks: group.Tasks.map((task) => ({ ...task, ...unnoticed })),
  }
}

/** The same for the same content, in whatever order members were written. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isJsonObject(member)
      ? Object.fromEntries(
          Object.entries(member).toSorted(([left], [right]) => (left < right ? -1 : 1)),
        )
      : member,
  )
}
