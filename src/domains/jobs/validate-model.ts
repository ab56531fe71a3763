/**
 * Whether a complete job can be registered: everything that is wrong with it, each with the path of the member and what would
 * be right, and what is allowed but seldom meant.
 */
import { isNamespaceName, namespaceRule } from '../namespaces/model.ts'
import { isBatchType, isJobType, jobTypes } from '../evaluations/job-type-model.ts'
import { groupNameLengthMax } from '../evaluations/model.ts'
import { reconcileStrategies, type JobSpec, type TaskGroup } from './model.ts'
import { Problems } from './problem-model.ts'
import { checkNetworks, checkServices } from './validate-network-model.ts'
import { checkAffinity, checkConstraint, checkSpread } from './validate-placement-model.ts'
import {
  checkMigrate,
  checkNotNegative,
  checkOneOf,
  checkParameterized,
  checkPeriodic,
  checkReschedule,
  checkRestart,
  checkScaling,
  checkUpdate,
} from './validate-rules-model.ts'
import { checkTask, notOfSystem } from './validate-task-model.ts'

const diskMin = 10
const idLengthMax = 256
/** Allocations of one job, as by Nomad: a scheduler worker holds all of them at once. */
const countMax = 50_000

/** What a check cannot know by itself. */
export type Surroundings = { readonly knowsTimeZone: (name: string) => boolean }

export function validateJob(job: JobSpec, { knowsTimeZone }: Surroundings): Problems {
  const problems = new Problems()
  checkNames(job, problems)
  checkPlacement(job, '', job, problems)
  checkRulesOfJob(job, problems)
  if (job.Periodic !== null) {
    if (!isBatch(job)) problems.add('Periodic', 'is for jobs of the types batch and sysbatch')
    checkPeriodic(job.Periodic, problems, knowsTimeZone)
  }
  if (job.ParameterizedJob !== null) {
    if (!isBatch(job)) {
      problems.add('ParameterizedJob', 'is for jobs of the types batch and sysbatch')
    }
    checkParameterized(job.ParameterizedJob, problems)
  }
  if (job.TaskGroups.length === 0)
    problems.add('TaskGroups', 'is empty: a job has a group at least')
  checkUnique(job.TaskGroups, 'TaskGroups', problems)
  const total = job.TaskGroups.reduce((sum, { Count }) => sum + Math.max(0, Count), 0)
  if (total > countMax) {
    problems.add(
      'TaskGroups',
      `have a Count of ${total} together: at most ${countMax} are possible`,
    )
  }
  for (const [index, group] of job.TaskGroups.entries()) {
    checkGroup(group, `TaskGroups[${index}]`, job, problems)
  }
  return problems
}

function checkNames(job: JobSpec, problems: Problems): void {
  if (job.ID === '') problems.add('ID', 'is missing')
  else if (/[ \0]/.test(job.ID)) problems.add('ID', 'must have no blank and no NUL in it')
  if (job.ID.length > idLengthMax) problems.add('ID', `must have at most ${idLengthMax} letters`)
  if (job.Name === '') problems.add('Name', 'is missing')
  else if (job.Name.includes('\0')) problems.add('Name', 'must have no NUL in it')
  if (!isNamespaceName(job.Namespace)) problems.add('Namespace', `is none: ${namespaceRule}`)
  if (!isJobType(job.Type)) {
    problems.add('Type', `must be one of ${jobTypes.join(', ')}`)
  }
  if (job.Priority < 1 || job.Priority > 100) problems.add('Priority', 'must be from 1 to 100')
  if (job.Datacenters.length === 0) {
    problems.add('Datacenters', 'is empty: name one at least, or write ["*"] for all')
  }
  for (const [index, name] of job.Datacenters.entries()) {
    if (name === '') problems.add(`Datacenters[${index}]`, 'is empty')
  }
}

/** Rules that groups inherit are named once, where they are written. */
function checkRulesOfJob(job: JobSpec, problems: Problems): void {
  if (job.Update !== null) {
    if (mayUpdate(job)) checkUpdate(job.Update, 'Update', job, problems)
    else problems.add('Update', notOfType(job))
  }
  if (job.Migrate !== null) {
    if (mayMigrate(job)) checkMigrate(job.Migrate, 'Migrate', problems)
    else problems.add('Migrate', notOfType(job))
  }
  if (job.Reschedule !== null) {
    if (mayReschedule(job)) checkReschedule(job.Reschedule, 'Reschedule', problems)
    else problems.add('Reschedule', notOfType(job))
  }
}

function checkGroup(group: TaskGroup, path: string, job: JobSpec, problems: Problems): void {
  if (group.Name.includes('\0')) problems.add(`${path}.Name`, 'must have no NUL in it')
  if (group.Name.length > groupNameLengthMax) {
    problems.add(`${path}.Name`, `must have at most ${groupNameLengthMax} letters`)
  }
  checkNotNegative(group.Count, `${path}.Count`, problems)
  if (job.Type === 'system' && group.Count > 1) {
    problems.add(`${path}.Count`, 'must be 0 or 1: a system job runs once on every node')
  }
  checkScaling(group, path, job, problems)
  checkPlacement(group, path, job, problems)
  checkRestart(group.RestartPolicy, `${path}.RestartPolicy`, problems)
  checkRulesOfGroup(group, path, job, problems)
  if (group.EphemeralDisk.SizeMB < diskMin) {
    problems.add(`${path}.EphemeralDisk.SizeMB`, `must be at least ${diskMin}`)
  }
  checkDisconnects(group, path, job, problems)
  for (const [name, volume] of Object.entries(group.Volumes)) {
    const at = `${path}.Volumes[${JSON.stringify(name)}]`
    if (volume.Type === 'csi') {
      problems.add(
        `${at}.Type`,
        'csi is not served: volumes are folders of the machines, of type host',
      )
    } else if (volume.Type !== 'host') problems.add(`${at}.Type`, 'must be host')
    if (volume.Source === '') problems.add(`${at}.Source`, 'is missing')
  }
  checkNetworks(group, path, problems)
  checkServices(group, path, problems)
  checkTasks(group, path, job, problems)
}

function checkTasks(group: TaskGroup, path: string, job: JobSpec, problems: Problems): void {
  const tasks = group.Tasks
  if (tasks.length === 0) problems.add(`${path}.Tasks`, 'is empty: a group has a task at least')
  checkUnique(tasks, `${path}.Tasks`, problems)
  if (tasks.filter(({ Leader }) => Leader).length > 1) {
    problems.add(`${path}.Tasks`, 'has several leaders: one task at most is marked so')
  }
  if (tasks.length > 0 && tasks.every(({ Lifecycle }) => Lifecycle !== null)) {
    problems.add(`${path}.Tasks`, 'has no main task: one at least has no Lifecycle')
  }
  for (const [index, task] of tasks.entries()) {
    checkTask(task, { path: `${path}.Tasks[${index}]`, job, group }, problems)
  }
}

function checkRulesOfGroup(group: TaskGroup, path: string, job: JobSpec, problems: Problems): void {
  const { Update, Migrate, ReschedulePolicy } = group
  if (Update !== null) {
    if (mayUpdate(job)) {
      if (differs(Update, job.Update)) checkUpdate(Update, `${path}.Update`, job, problems)
    } else if (job.Update === null) problems.add(`${path}.Update`, notOfType(job))
  }
  if (Migrate !== null) {
    if (mayMigrate(job)) {
      if (differs(Migrate, job.Migrate)) checkMigrate(Migrate, `${path}.Migrate`, problems)
    } else if (job.Migrate === null) problems.add(`${path}.Migrate`, notOfType(job))
  }
  if (ReschedulePolicy !== null) {
    if (mayReschedule(job)) {
      if (differs(ReschedulePolicy, job.Reschedule)) {
        checkReschedule(ReschedulePolicy, `${path}.ReschedulePolicy`, problems)
      }
    } else if (job.Reschedule === null) problems.add(`${path}.ReschedulePolicy`, notOfType(job))
  }
}

function checkDisconnects(group: TaskGroup, path: string, job: JobSpec, problems: Problems): void {
  const { ShutdownDelay, StopAfterClientDisconnect, MaxClientDisconnect } = group
  checkNotNegative(ShutdownDelay, `${path}.ShutdownDelay`, problems)
  checkNotNegative(StopAfterClientDisconnect, `${path}.StopAfterClientDisconnect`, problems)
  checkNotNegative(MaxClientDisconnect, `${path}.MaxClientDisconnect`, problems)
  checkDisconnect(group, `${path}.Disconnect`, problems)
  if (StopAfterClientDisconnect === null) return
  if (job.Type !== 'service' && job.Type !== 'batch') {
    problems.add(`${path}.StopAfterClientDisconnect`, 'is for jobs of the types service and batch')
  }
  if (MaxClientDisconnect !== null) {
    problems.add(
      `${path}.StopAfterClientDisconnect`,
      'does not go together with MaxClientDisconnect: give one of them',
    )
  }
}

function checkDisconnect(
  { Disconnect, StopAfterClientDisconnect, MaxClientDisconnect }: TaskGroup,
  path: string,
  problems: Problems,
): void {
  if (Disconnect === undefined) return
  const { LostAfter, StopOnClientAfter, Replace, Reconcile } = Disconnect
  if (LostAfter !== MaxClientDisconnect) {
    problems.add(`${path}.LostAfter`, 'is another name of MaxClientDisconnect: give one of them')
  }
  if (StopOnClientAfter !== StopAfterClientDisconnect) {
    const text = 'is another name of StopAfterClientDisconnect: give one of them'
    problems.add(`${path}.StopOnClientAfter`, text)
  }
  if (!Replace && LostAfter === null) {
    problems.add(`${path}.LostAfter`, 'is missing: until then it is not replaced')
  }
  checkOneOf(Reconcile, reconcileStrategies, `${path}.Reconcile`, problems)
}

function checkPlacement(
  part: Pick<JobSpec, 'Constraints' | 'Affinities' | 'Spreads'>,
  path: string,
  job: JobSpec,
  problems: Problems,
): void {
  const below = path === '' ? '' : `${path}.`
  for (const [index, constraint] of part.Constraints.entries()) {
    checkConstraint(constraint, `${below}Constraints[${index}]`, problems)
  }
  if (job.Type === 'system') {
    if (part.Affinities.length > 0) problems.add(`${below}Affinities`, notOfSystem)
    if (part.Spreads.length > 0) problems.add(`${below}Spreads`, notOfSystem)
    return
  }
  for (const [index, affinity] of part.Affinities.entries()) {
    checkAffinity(affinity, `${below}Affinities[${index}]`, problems)
  }
  for (const [index, spread] of part.Spreads.entries()) {
    checkSpread(spread, `${below}Spreads[${index}]`, problems)
  }
}

function checkUnique(
  parts: readonly { readonly Name: string }[],
  path: string,
  problems: Problems,
): void {
  const first = new Map<string, number>()
  for (const [index, { Name }] of parts.entries()) {
    const other = first.get(Name)
    if (Name === '') problems.add(`${path}[${index}].Name`, 'is missing')
    else if (other !== undefined) {
      problems.add(`${path}[${index}].Name`, `is that of ${path}[${other}] already`)
    }
    first.set(Name, other ?? index)
  }
}

function isBatch({ Type }: JobSpec): boolean {
  return isBatchType(Type)
}

function mayUpdate({ Type }: JobSpec): boolean {
  return Type !== 'batch' && Type !== 'sysbatch'
}

function mayMigrate({ Type }: JobSpec): boolean {
  return Type !== 'batch' && Type !== 'sysbatch' && Type !== 'system'
}

function mayReschedule({ Type }: JobSpec): boolean {
  return Type !== 'system' && Type !== 'sysbatch'
}

function notOfType({ Type }: JobSpec): string {
  return `has no meaning in a job of the type ${Type}: leave it out`
}

function differs(one: object, other: object | null): boolean {
  return other === null || JSON.stringify(one) !== JSON.stringify(other)
}

/** What is allowed and seldom meant. `oversubscribes`: tasks may use more memory than is reserved for them. */
export function warningsOf(
  job: JobSpec,
  { oversubscribes }: { readonly oversubscribes: boolean },
): readonly string[] {
  const warnings = new Problems()
  const updates = job.TaskGroups.flatMap(({ Update }) => Update ?? [])
  const promotes = updates.some(({ AutoPromote }) => AutoPromote)
  if (promotes && updates.some(({ AutoPromote, Canary }) => !AutoPromote && Canary > 0)) {
    warnings.add('Update.AutoPromote', 'must be true in all groups with canaries to have an effect')
  }
  for (const [index, group] of job.TaskGroups.entries()) {
    const at = `TaskGroups[${index}]`
    const parallel = group.Update?.MaxParallel ?? 0
    if (parallel > group.Count && group.Count > 1) {
      warnings.add(
        `${at}.Update.MaxParallel`,
        `is above the count of ${group.Count}: an update replaces all allocations at once`,
      )
    }
    if (group.Networks.some(({ MBits }) => MBits !== null)) {
      warnings.add(`${at}.Networks`, 'has MBits, which has no effect')
    }
    for (const [number, { Resources }] of group.Tasks.entries()) {
      if (Resources.MemoryMaxMB !== undefined && !oversubscribes) {
        warnings.add(
          `${at}.Tasks[${number}].Resources.MemoryMaxMB`,
          'has no effect until MemoryOversubscriptionEnabled of the scheduler configuration is true',
        )
      }
      if (Resources.DiskMB !== 0) {
        warnings.add(
          `${at}.Tasks[${number}].Resources.DiskMB`,
          'is ignored: the disk belongs to the group, set its EphemeralDisk.SizeMB',
        )
      }
      if (Resources.Networks.length > 0) {
        warnings.add(
          `${at}.Tasks[${number}].Resources.Networks`,
          'is the old form: ports belong to the Networks of the group',
        )
      }
    }
  }
  return warnings.texts()
}
