/** Methods on registered jobs. */
import { Type } from 'typebox'
import type { Reader } from '../../fsm/domain.ts'
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { onePage, Page } from '../../rpc/list.ts'
import { defineLeaderMethod, defineQuery, type LeaderContext } from '../../rpc/method.ts'
import { isJobType } from '../evaluations/job-type-model.ts'
import { jobIdLengthMax, operatorOptionsVersion, Priority } from '../evaluations/model.ts'
import { allNamespaces, checkNamespaceName } from '../namespaces/model.ts'
import { deregisterJob, evaluateJob, registerJob } from './commands.ts'
import { withDefaults, withoutTaskDisks } from './defaults-model.ts'
import { readJob } from './draft-model.ts'
import { childSuffixLengthMax, dispatchedSpec } from './dispatch-model.ts'
import {
  laterMembersOf,
  settledMembersVersion,
  systemDeploymentMembersOf,
  systemDeploymentsVersion,
} from './later-model.ts'
import { kindOf, type JobKind } from './kind-model.ts'
import { chosen, known, knownLater, mustKnow, mustTakeJobs, unknownJob } from './known.ts'
import type { JobSpec } from './model.ts'
import {
  jobOf,
  jobsIn,
  newestVersionOf,
  versionOf,
  versionsOf,
  type WholeJob,
  versionsKept,
} from './queries.ts'
import { reschedules } from './rules-model.ts'
import { failedWork } from './services.ts'
import { inNamespace, leastForNamespaces } from '../../rpc/requirements.ts'
import { settingsOf } from '../scheduler-settings/queries.ts'
import { isOddName, specBytesMax, specBytesOf } from './stored-model.ts'
import { filteredJob, jobFilters } from './shown.ts'
import { jobs, type JobRow, type JobVersionRow } from './table.ts'
import { validateJob, warningsOf } from './validate-model.ts'
import { knowsTimeZone, launchWarning } from './zones.ts'

const Word = Type.String({ maxLength: 1_024 })
const Named = { namespace: Word, id: Word }

/** `*`: of all namespaces. */
const list = defineQuery({
  kind: 'query',
  name: 'jobs.list',
  long: true,
  args: Type.Object({ ...Page, namespace: Word }),
  requires: () => ({ resource: 'none' }),
  least: leastForNamespaces,
  query: async (reader, { namespace, prefix, filter, nextToken, perPage }, context) => {
    const value = await onePage(
      context,
      { nextToken, perPage },
      {
        pages: jobsIn(reader, namespace === allNamespaces ? null : namespace, prefix),
        keyOf: ({ job }) => jobs.key(job),
        show: (whole, may) =>
          whole.job.id.startsWith(prefix) && may(inNamespace(whole.job.namespace, 'list-jobs'))
            ? whole
            : null,
        filter: jobFilters.compile(filter),
        recordOf: filteredJob,
      },
    )
    return { value, index: reader.tableIndex(jobs) }
  },
})

const read = defineQuery({
  kind: 'query',
  name: 'jobs.read',
  args: Type.Object(Named),
  requires: ({ namespace }) => inNamespace(namespace, 'read-job'),
  query: (reader, { namespace, id }) => {
    const value = wholeOf(reader, namespace, id)
    return { value, index: value?.job.modifyIndex ?? reader.tableIndex(jobs) }
  },
})

export type JobVersions = { readonly job: JobRow; readonly versions: readonly JobVersionRow[] }

/** The newest first. */
const versions = defineQuery({
  kind: 'query',
  name: 'jobs.versions',
  args: Type.Object(Named),
  requires: ({ namespace }) => inNamespace(namespace, 'read-job'),
  query: async (reader, { namespace, id }) => {
    const job = jobOf(reader, namespace, id)
    if (job === null) return { value: null, index: reader.tableIndex(jobs) }
    const rows = await versionsOf(reader, job, versionsKept)
    const value: JobVersions = { job, versions: rows }
    return { value, index: job.modifyIndex }
  },
})

export type Registered = {
  readonly index: number
  readonly jobModifyIndex: number
  /** '': a template has none. */
  readonly evaluation: string
  readonly warnings: readonly string[]
}

const Enforce = Type.Union([
  Type.Null(),
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
])

/** `enforceIndex`: the index that the job must have, 0 for one that must not exist; null: any. */
const register = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'jobs.register',
  args: Type.Object({
    namespace: Word,
    job: Type.Unknown(),
    enforceIndex: Enforce,
    evalPriority: Type.Optional(Priority),
  }),
  requires: ({ namespace }) => inNamespace(namespace, 'submit-job'),
  run: (context, { job, ...args }) => submit(context, { ...args, ...specOf(args.namespace, job) }),
})

/** `asked`: with what is ignored of it, which warnings name. */
export type Spec = { readonly spec: JobSpec; readonly asked: JobSpec }

/** Of a job as a client wrote it, that is to be registered there. Throws what is wrong with it. */
export function specOf(namespace: string, job: unknown): Spec {
  checkNamespaceName(namespace)
  const { draft, refused } = readJob(job)
  const asked = withDefaults({ ...draft, Namespace: namespace }, namespace)
  const problems = [...refused.texts(), ...validateJob(asked, { knowsTimeZone }).texts()]
  if (problems.length > 0) throw new MusterError('invalid_argument', problems.join('; '))
  const spec = withoutTaskDisks(asked)
  checkStorable(spec)
  return { spec, asked }
}

/** To what an earlier version was: that is a new version again. */
const revert = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'jobs.revert',
  args: Type.Object({
    ...Named,
    version: Type.Integer({ minimum: 0, maximum: 2 ** 48 }),
    enforceVersion: Enforce,
  }),
  requires: ({ namespace }) => inNamespace(namespace, 'submit-job'),
  run: (context, { namespace, id, version, enforceVersion }) => {
    const job = known(context, namespace, id)
    const isFirst = !context.tookEffect
    if (isFirst && enforceVersion !== null && enforceVersion !== job.version) {
      const text = `the job is at version ${job.version}, not ${enforceVersion}`
      throw new MusterError('conflict', text)
    }
    if (isFirst && version === job.version && !job.stop) {
      throw new MusterError('invalid_argument', `the job is at version ${version} already`)
    }
    const key = { namespace, id, jobCreateIndex: job.createIndex, version }
    const before = versionOf(context.read(), key)
    if (before === null) {
      throw new MusterError('not_found', `there is no version ${version} of the job`)
    }
    const { spec } = before
    return submit(context, { namespace, spec, asked: spec, enforceIndex: job.jobModifyIndex })
  },
})

export type Evaluated = {
  readonly index: number
  readonly jobModifyIndex: number
  readonly evaluation: string
}

const stop = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'jobs.stop',
  args: Type.Object({
    ...Named,
    purge: Type.Boolean(),
    skipsDelay: Type.Optional(Type.Boolean()),
    evalPriority: Type.Optional(Priority),
  }),
  requires: ({ namespace }) => inNamespace(namespace, 'submit-job'),
  run: async (context, { skipsDelay = false, evalPriority, ...stopped }): Promise<Evaluated> => {
    const { priority } = known(context, stopped.namespace, stopped.id)
    if (skipsDelay) mustKnow(context, operatorOptionsVersion, 'no_shutdown_delay')
    const args = {
      ...stopped,
      ...(skipsDelay && { skipsDelay }),
      ...otherPriority(context, 'eval_priority', evalPriority, priority),
      ...chosen(context),
    }
    const { index, outcome } = await context.propose(deregisterJob, args)
    if (outcome.type === 'unknown') throw unknownJob()
    const { jobModifyIndex, evaluation } = outcome
    return { index, jobModifyIndex, evaluation: evaluation?.id ?? '' }
  },
})

const evaluate = defineLeaderMethod({
  kind: 'leader',
  repeatable: true,
  name: 'jobs.evaluate',
  args: Type.Object(Named),
  requires: ({ namespace }) => inNamespace(namespace, 'read-job'),
  run: (context, { namespace, id }) => {
    mustHaveWork(known(context, namespace, id))
    return evaluateNow(context, namespace, id)
  },
})

/** What failed is placed anew at once. Not repeatable: the leader that is asked knows what did. */
const reschedule = defineLeaderMethod({
  kind: 'leader',
  name: 'jobs.reschedule',
  args: Type.Object(Named),
  requires: ({ namespace }) => inNamespace(namespace, 'submit-job'),
  run: async (context, { namespace, id }): Promise<Evaluated> => {
    const job = known(context, namespace, id)
    mustHaveWork(job)
    mustKnow(context, operatorOptionsVersion, 'EvalOptions.ForceReschedule')
    const groups = newestVersionOf(context.read(), job)?.spec.TaskGroups ?? []
    const again = groups.filter(({ ReschedulePolicy }) => reschedules(ReschedulePolicy))
    const names = new Set(again.map(({ Name }) => Name))
    await context.service(failedWork).reschedule(context, job, names)
    return evaluateNow(context, namespace, id)
  },
})

export const registeredJobMethods = {
  list,
  read,
  versions,
  register,
  revert,
  stop,
  evaluate,
  reschedule,
}

function mustHaveWork({ template }: JobRow): void {
  if (!template) return
  const text = 'a periodic or parameterized job has nothing to evaluate: its children have'
  throw new MusterError('invalid_argument', text)
}

async function evaluateNow(
  context: LeaderContext,
  namespace: string,
  id: string,
): Promise<Evaluated> {
  const args = { namespace, id, ...chosen(context) }
  const { index, outcome } = await context.propose(evaluateJob, args)
  if (outcome.type === 'unknown') throw unknownJob()
  const { row, evaluation } = outcome
  return { index, jobModifyIndex: row.jobModifyIndex, evaluation: evaluation.id }
}

type Submission = Spec & {
  readonly namespace: string
  readonly enforceIndex: number | null
  readonly evalPriority?: number
}

/** What a command has of an evaluation's priority. `own`: of the job. */
function otherPriority(
  context: LeaderContext,
  option: string,
  asked: number | undefined,
  own: number,
): { readonly evalPriority?: number } {
  if (asked === undefined || asked === own) return {}
  mustKnow(context, operatorOptionsVersion, option)
  return { evalPriority: asked }
}

async function submit(
  context: LeaderContext,
  { namespace, spec, asked, enforceIndex, evalPriority }: Submission,
): Promise<Registered> {
  mustTakeJobs(context)
  mustKnowMembers(context, spec)
  checkStorable(spec)
  const { ID: id, Type: type, Priority: priority, TaskGroups: taskGroups } = spec
  if (!isJobType(type)) {
    throw new MusterError('invalid_argument', 'Type must be service, batch, system or sysbatch')
  }
  const before = context.tookEffect ? null : jobOf(context.read(), namespace, id)
  mustKeepType(before?.type ?? null, type)
  const groups = taskGroups.map(({ Name }) => Name)
  const { index, outcome } = await context.propose(registerJob, {
    namespace,
    id,
    type,
    priority,
    groups,
    spec,
    enforceIndex,
    ...otherPriority(context, 'EvalPriority', evalPriority, priority),
    ...chosen(context),
  })
  switch (outcome.type) {
    case 'registered': {
      const { row, evaluation } = outcome
      const warnings = warningsNow(context, asked)
      return {
        index,
        jobModifyIndex: row.jobModifyIndex,
        evaluation: evaluation?.id ?? '',
        warnings,
      }
    }
    case 'conflict':
      throw new MusterError('conflict', conflictText(enforceIndex, outcome.jobModifyIndex))
    case 'otherKind':
      throw new MusterError('invalid_argument', otherKindText(id, outcome.kind))
    case 'unknownNamespace':
      throw unknownNamespace(namespace)
    default:
      return assertNever(outcome)
  }
}

export function unknownNamespace(namespace: string): MusterError {
  const name = JSON.stringify(namespace)
  const text = `namespace ${name} does not exist: create it with PUT /v1/namespace/${namespace}`
  return new MusterError('invalid_argument', text)
}

/** As Nomad words it, so that its tools know it again. */
function conflictText(wanted: number | null, found: number): string {
  const head = 'Enforcing job modify index'
  if (found === 0) return `${head} ${wanted}: job does not exist`
  return wanted === 0
    ? `${head} 0: job already exists`
    : `${head} ${wanted}: job exists with conflicting job modify index: ${found}`
}

/** Also those that follow from what the scheduler is set to, and from the time. */
export function warningsNow(
  context: Pick<LeaderContext, 'read' | 'clock'>,
  spec: JobSpec,
): readonly string[] {
  const oversubscribes = settingsOf(context.read()).oversubscribesMemory === true
  const launch = launchWarning(spec, context.clock.wallMs())
  return [...warningsOf(spec, { oversubscribes }), ...(launch === null ? [] : [launch])]
}

/** What runs is reconciled by the rules of its type. `before`: null, there is no such job; one that is stopped is there. As Nomad words it. */
export function mustKeepType(before: string | null, type: string): void {
  if (before === null || before === type) return
  const [from, to] = [JSON.stringify(before), JSON.stringify(type)]
  const text = `cannot update job from type ${from} to ${to}: purge it first, or choose another ID`
  throw new MusterError('invalid_argument', text)
}

export function otherKindText(id: string, kind: JobKind): string {
  const name = JSON.stringify(id)
  const now = kind === 'plain' ? 'neither periodic nor parameterized' : kind
  return `job ${name} is ${now}, and stays so: purge it first, or choose another ID`
}

/** Throws `not_implemented` for a job that a server of an older program could not read, or would run otherwise. */
function mustKnowMembers(context: LeaderContext, spec: JobSpec): void {
  const { commandVersion } = context.read()
  const [path] = [
    ...(commandVersion < settledMembersVersion ? laterMembersOf(spec) : []),
    ...(commandVersion < systemDeploymentsVersion ? systemDeploymentMembersOf(spec) : []),
  ]
  if (path !== undefined) throw knownLater(path)
}

/** Throws `too_large` or `invalid_argument`. */
function checkStorable(spec: JobSpec): void {
  if (spec.ID.length > jobIdLengthMax) {
    throw new MusterError('invalid_argument', `ID has over ${jobIdLengthMax} letters`)
  }
  const suffixMax = childSuffixLengthMax(kindOf(spec))
  const templateMax = jobIdLengthMax - suffixMax
  if (spec.ID.length > templateMax) {
    const text = `ID has over ${templateMax} letters: the jobs that this one starts have longer ids`
    throw new MusterError('invalid_argument', text)
  }
  // What it starts has its specification, with a longer name.
  const longest = spec.ID + 'x'.repeat(suffixMax)
  const bytes = specBytesOf(suffixMax === 0 ? spec : dispatchedSpec(spec, longest, []))
  if (bytes <= specBytesMax) return
  const odd = oddNameIn(spec)
  if (odd !== null) {
    throw new MusterError('invalid_argument', `a member may not be named ${JSON.stringify(odd)}`)
  }
  throw new MusterError(
    'too_large',
    `a job may take ${specBytesMax} bytes with its defaults: let tasks fetch larger files as artifacts`,
  )
}

function oddNameIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  for (const [name, member] of Object.entries(value)) {
    if (isOddName(name)) return name
    const within = oddNameIn(member)
    if (within !== null) return within
  }
  return null
}

function wholeOf(reader: Reader, namespace: string, id: string): WholeJob | null {
  const job = jobOf(reader, namespace, id)
  const version = job === null ? null : newestVersionOf(reader, job)
  return job === null || version === null ? null : { job, version }
}
