/** What a difference between two versions of a job means for its allocations. */
import type { FieldDiff, GroupDiff, JobDiff, ObjectDiff } from '../jobs/diff-model.ts'
import type { DesiredUpdates } from '../../scheduler/desired.ts'
import { unnoticedMembers } from '../../scheduler/group-change.ts'

/** By the words that Nomad's tools print; what is 0 is left out. */
function updatesOf(counts: DesiredUpdates): Readonly<Record<string, number>> {
  const all = {
    ignore: counts.ignore,
    create: counts.place,
    destroy: counts.stop,
    migrate: counts.migrate,
    'in-place update': counts.inPlace,
    'create/destroy update': counts.destructive,
    canary: counts.canary,
  }
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count > 0))
}

export type AnnotatedTask = ObjectDiff & { readonly Annotations: readonly string[] | null }
export type AnnotatedGroup = Omit<GroupDiff, 'Tasks'> & {
  readonly Tasks: readonly AnnotatedTask[]
  readonly Updates: Readonly<Record<string, number>> | null
}
export type AnnotatedDiff = Omit<JobDiff, 'TaskGroups'> & {
  readonly TaskGroups: readonly AnnotatedGroup[]
}

/** Groups that stay as they are have no part in it, unless something becomes of their allocations. */
export function annotated(
  diff: JobDiff,
  desired: ReadonlyMap<string, DesiredUpdates>,
): AnnotatedDiff {
  const known = new Set(diff.TaskGroups.map(({ Name }) => Name))
  const others = [...desired.keys()].filter((name) => !known.has(name)).map(unchanged)
  return {
    ...diff,
    TaskGroups: [...diff.TaskGroups, ...others].map((group) => {
      const counts = desired.get(group.Name)
      return {
        ...group,
        Fields: group.Fields.map(withCount),
        Tasks: group.Tasks.map((task) => ({ ...task, Annotations: annotationsOf(task, group) })),
        Updates: counts === undefined ? null : updatesOf(counts),
      }
    }),
  }
}

function unchanged(name: string): GroupDiff {
  return { Type: 'None', Name: name, Fields: [], Objects: [], Tasks: [] }
}

function withCount(field: FieldDiff): FieldDiff {
  if (field.Name !== 'Count') return field
  const [before, after] = [Number(field.Old), Number(field.New)]
  return { ...field, Annotations: [before < after ? 'forces create' : 'forces destroy'] }
}

/** What comes of the task itself, whether or not allocations are changed now: those that have canaries first are changed after them. */
function annotationsOf(task: ObjectDiff, group: GroupDiff): readonly string[] {
  if (group.Type === 'Added') return ['forces create']
  if (group.Type === 'Deleted') return ['forces destroy']
  const isInPlace =
    task.Type === 'Edited' &&
    [...task.Fields, ...task.Objects].every(({ Name }) => unnoticedMembers.has(Name))
  return [isInPlace ? 'forces in-place update' : 'forces create/destroy update']
}
