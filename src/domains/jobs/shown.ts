/** Jobs as the API shows them. */
import { exactNanoseconds, nanoseconds } from '../../lib/date-text.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import { jobDiff } from './diff-model.ts'
import { isParameterized } from './kind-model.ts'
import type { JobSpec } from './model.ts'
import type { WholeJob } from './queries.ts'
import { shownSpec } from './shown-spec-model.ts'
import { noChildren } from './state-model.ts'
import type { GroupCounts, JobRow, JobVersionRow } from './table.ts'

/** A complete job that is not registered: the members that the cluster sets are empty. */
export function shownSpecification(job: JobSpec) {
  return {
    ...job,
    ParentID: '',
    Dispatched: false,
    Payload: null,
    Stop: false,
    Stable: false,
    Status: '',
    StatusDescription: '',
    SubmitTime: null,
    Version: 0,
    CreateIndex: 0,
    ModifyIndex: 0,
    JobModifyIndex: 0,
  }
}

/** As Go prints several errors at once, which tools show as it is. */
export function shownErrors(errors: readonly string[]): string {
  if (errors.length === 0) return ''
  const head = errors.length === 1 ? '1 error occurred:' : `${errors.length} errors occurred:`
  return `${head}\n${errors.map((error) => `\t* ${error}\n`).join('')}\n`
}

export function shownWarnings(warnings: readonly string[]): string {
  if (warnings.length === 0) return ''
  const head = warnings.length === 1 ? '1 warning:' : `${warnings.length} warnings:`
  return `${head}\n\n${warnings.map((warning) => `* ${warning}`).join('\n')}`
}

/** A version of a registered job. `job`: as it is now. */
export function shownVersion(version: JobVersionRow, job: JobRow) {
  return {
    ...shownSpec(version.spec),
    ParentID: job.parent?.id ?? '',
    Dispatched: job.parent?.dispatched ?? false,
    Payload: version.payload ?? null,
    Stop: version.stop,
    Stable: version.stable ?? false,
    Status: job.status,
    StatusDescription: '',
    SubmitTime: nanoseconds(version.submitMs),
    Version: version.version,
    CreateIndex: job.createIndex,
    ModifyIndex: job.modifyIndex,
    JobModifyIndex: version.version === job.version ? job.jobModifyIndex : version.modifyIndex,
  }
}

/** Each with the one before it, the newest first. Null: there is one version alone. */
export function shownDiffs(versions: readonly JobVersionRow[]) {
  const diffs = versions.slice(0, -1).map((after, at) => {
    const before = versions[at + 1] ?? after
    const diff = jobDiff(before.spec, after.spec, { before: before.stop, after: after.stop })
    const TaskGroups = diff.TaskGroups.map((group) => ({
      ...group,
      Tasks: group.Tasks.map((task) => ({ ...task, Annotations: null })),
      Updates: null,
    }))
    return { ...diff, TaskGroups }
  })
  return diffs.length === 0 ? null : diffs
}

export function shownJob({ job, version }: WholeJob) {
  return shownVersion(version, job)
}

/** `meta`: with what the job says of itself. */
export function shownStub({ job, version }: WholeJob, { meta = false } = {}) {
  const { Name, Datacenters, Periodic, Meta } = version.spec
  return {
    ID: job.id,
    ParentID: job.parent?.id ?? '',
    Name,
    Namespace: job.namespace,
    Datacenters,
    Type: job.type,
    Priority: job.priority,
    Periodic: Periodic !== null,
    ParameterizedJob: isParameterized(version.spec, job.parent?.dispatched === true),
    Stop: job.stop,
    Status: job.status,
    StatusDescription: '',
    JobSummary: shownSummary(job),
    CreateIndex: job.createIndex,
    ModifyIndex: job.modifyIndex,
    JobModifyIndex: job.jobModifyIndex,
    SubmitTime: nanoseconds(job.submitMs),
    ...(meta && { Meta }),
  }
}

/** What a filter is asked of. */
export function filteredJob(whole: WholeJob) {
  const SubmitTime = exactNanoseconds(whole.job.submitMs)
  return { ...shownStub(whole, { meta: true }), SubmitTime }
}

export function shownSummary(row: JobRow) {
  const { namespace, id, groups, children = noChildren, createIndex, modifyIndex } = row
  return {
    JobID: id,
    Namespace: namespace,
    Summary: Object.fromEntries(groups.map((counts) => [counts.group, shownCounts(counts)])),
    Children: { Pending: children.pending, Running: children.running, Dead: children.dead },
    CreateIndex: createIndex,
    ModifyIndex: modifyIndex,
  }
}

function shownCounts(counts: GroupCounts) {
  return {
    Queued: counts.queued,
    Complete: counts.complete,
    Failed: counts.failed,
    Running: counts.running,
    Starting: counts.starting,
    Lost: counts.lost,
    Unknown: counts.unknown,
  }
}

export const jobFilters = new FilterCompiler({
  ID: 'string',
  ParentID: 'string',
  Name: 'string',
  Namespace: 'string',
  Datacenters: { list: 'string' },
  Meta: { map: 'string' },
  Type: 'string',
  Priority: 'unsigned',
  Periodic: 'boolean',
  ParameterizedJob: 'boolean',
  Stop: 'boolean',
  Status: 'string',
  StatusDescription: 'string',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
  JobModifyIndex: 'unsigned',
  SubmitTime: 'integer',
})
