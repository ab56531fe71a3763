/** What differs between two versions of a job, as Nomad's tools show it: fields, objects, groups and tasks. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject } from '../../lib/json-object.ts'
import type { JobSpec } from './model.ts'

export type DiffType = 'None' | 'Added' | 'Deleted' | 'Edited'

export type FieldDiff = {
  readonly Type: DiffType
  readonly Name: string
  readonly Old: string
  readonly New: string
  readonly Annotations: readonly string[] | null
}

export type ObjectDiff = {
  readonly Type: DiffType
  readonly Name: string
  readonly Fields: readonly FieldDiff[]
  readonly Objects: readonly ObjectDiff[]
}

export type GroupDiff = ObjectDiff & { readonly Tasks: readonly ObjectDiff[] }

export type JobDiff = Omit<ObjectDiff, 'Name'> & {
  readonly ID: string
  readonly TaskGroups: readonly GroupDiff[]
}

type Members = Readonly<Record<string, unknown>>

export type Stopped = { readonly before: boolean; readonly after: boolean }

/** `before`: null, there is none. `stopped`: which of both is to run nothing. */
export function jobDiff(
  before: JobSpec | null,
  after: JobSpec,
  stopped: Stopped = { before: false, after: false },
): JobDiff {
  const groupsBefore = before?.TaskGroups ?? []
  const groupsAfter = after.TaskGroups
  const stops = stopped.before !== stopped.after
  const { Type, Fields, Objects } = objectDiff(
    '',
    before === null ? null : { ...ownOf(before), ...(stops && { Stop: stopped.before }) },
    { ...ownOf(after), ...(stops && { Stop: stopped.after }) },
  )
  const TaskGroups = paired(groupsBefore, groupsAfter).flatMap(([old, one]) => groupDiff(old, one))
  const isEdited = Type !== 'None' || TaskGroups.length > 0
  return {
    Type: before === null ? 'Added' : isEdited ? 'Edited' : 'None',
    ID: after.ID,
    Fields,
    Objects,
    TaskGroups,
  }
}

/** What groups inherit differs in each of them, and is told there. */
function ownOf(job: JobSpec): Members {
  const { TaskGroups: _groups, Update: _u, Migrate: _m, Reschedule: _r, ...own } = job
  return own
}

type Named = Members & { readonly Name: string }
type Group = Named & { readonly Tasks: readonly Named[] }

function groupDiff(before: Group | null, after: Group | null): readonly GroupDiff[] {
  const own = (group: Group | null): Members | null => {
    if (group === null) return null
    const { Tasks: _tasks, ...others } = group
    return others
  }
  const Tasks = paired(before?.Tasks ?? [], after?.Tasks ?? []).flatMap(([old, one]) =>
    changed(objectDiff(old?.Name ?? one?.Name ?? '', old, one)),
  )
  const diff = objectDiff(before?.Name ?? after?.Name ?? '', own(before), own(after))
  if (diff.Type === 'None' && Tasks.length === 0) return []
  return [{ ...diff, Type: diff.Type === 'None' ? 'Edited' : diff.Type, Tasks }]
}

function objectDiff(name: string, before: Members | null, after: Members | null): ObjectDiff {
  const fields: FieldDiff[] = []
  const objects: ObjectDiff[] = []
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  for (const member of [...names].sort()) {
    const [old, now] = [memberOf(before, member), memberOf(after, member)]
    if (isDeepStrictEqual(old, now)) continue
    if (isList(old) || isList(now)) objects.push(...listDiff(member, listOf(old), listOf(now)))
    else if (isMap(member)) fields.push(...mapDiff(member, membersOf(old), membersOf(now)))
    else if (isJsonObject(old) || isJsonObject(now)) {
      const [left, right] = [isJsonObject(old) ? old : null, isJsonObject(now) ? now : null]
      objects.push(...changed(objectDiff(member, left, right)))
    } else fields.push(...fieldDiff(member, textOf(old), textOf(now)))
  }
  const isSame = fields.length === 0 && objects.length === 0
  const edited = isSame ? 'None' : 'Edited'
  const Type = before === null ? 'Added' : after === null ? 'Deleted' : edited
  return { Type, Name: name, Fields: fields, Objects: objects }
}

/** Names of the user's own: each is a field, as `Meta[key]`. */
function isMap(name: string): boolean {
  return ['Meta', 'Env', 'Config', 'Header', 'GetterOptions', 'GetterHeaders', 'Policy'].includes(
    name,
  )
}

function mapDiff(name: string, before: Members, after: Members): readonly FieldDiff[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys].sort().flatMap((key) => {
    const [old, now] = [memberOf(before, key), memberOf(after, key)]
    return fieldDiff(`${name}[${key}]`, textOf(old), textOf(now))
  })
}

/** Entries with a name are compared with those of the same name; others are there or not. */
function listDiff(
  name: string,
  before: readonly unknown[],
  after: readonly unknown[],
): readonly ObjectDiff[] {
  if ([...before, ...after].every(isNamed)) {
    return paired(before.filter(isNamed), after.filter(isNamed)).flatMap(([old, now]) =>
      changed(objectDiff(name, old, now)),
    )
  }
  const gone = without(before, after)
  const added = without(after, before)
  if ([...gone, ...added].every((entry) => !isJsonObject(entry))) {
    const Fields = [
      ...gone.flatMap((entry) => fieldDiff(name, textOf(entry), '')),
      ...added.flatMap((entry) => fieldDiff(name, '', textOf(entry))),
    ]
    // The order alone differs.
    return Fields.length === 0 ? [] : [{ Type: 'Edited', Name: name, Fields, Objects: [] }]
  }
  return [
    ...gone.map((entry) => objectDiff(name, membersOf(entry), null)),
    ...added.map((entry) => objectDiff(name, null, membersOf(entry))),
  ]
}

function without(entries: readonly unknown[], others: readonly unknown[]): readonly unknown[] {
  const known = new Set(others.map((entry) => JSON.stringify(entry)))
  return entries.filter((entry) => !known.has(JSON.stringify(entry)))
}

/** By name, in the order in which they are written, those that are gone last. Of several of one name each with that of its number among them. */
function paired<Entry extends Named>(
  before: readonly Entry[],
  after: readonly Entry[],
): readonly (readonly [Entry | null, Entry | null])[] {
  const old = numbered(before)
  const now = numbered(after)
  return [
    ...[...now].map(([key, entry]) => [old.get(key) ?? null, entry] as const),
    ...[...old].flatMap(([key, entry]) => (now.has(key) ? [] : [[entry, null] as const])),
  ]
}

function numbered<Entry extends Named>(entries: readonly Entry[]): ReadonlyMap<string, Entry> {
  const counts = new Map<string, number>()
  return new Map(
    entries.map((entry) => {
      const number = counts.get(entry.Name) ?? 0
      counts.set(entry.Name, number + 1)
      return [`${number} ${entry.Name}`, entry]
    }),
  )
}

/** Nothing of one that has no members. */
function changed(diff: ObjectDiff): readonly ObjectDiff[] {
  return diff.Fields.length === 0 && diff.Objects.length === 0 ? [] : [diff]
}

function fieldDiff(Name: string, Old: string, New: string): readonly FieldDiff[] {
  if (Old === New) return []
  const Type = Old === '' ? 'Added' : New === '' ? 'Deleted' : 'Edited'
  return [{ Type, Name, Old, New, Annotations: null }]
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function memberOf(members: Members | null, name: string): unknown {
  return members !== null && Object.hasOwn(members, name) ? members[name] : undefined
}

function membersOf(value: unknown): Members {
  return isJsonObject(value) ? value : {}
}

function listOf(value: unknown): readonly unknown[] {
  return isList(value) ? value : []
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isNamed(value: unknown): value is Named {
  return isJsonObject(value) && typeof value['Name'] === 'string' && value['Name'] !== ''
}
