/** What the scheduler would do for a job, on a state as it is: nothing is written. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { newEvaluation, type NewEvaluation } from '../evaluations/model.ts'
import { isJobType } from '../evaluations/job-type-model.ts'
import { isTemplate } from '../jobs/kind-model.ts'
import type { JobSpec } from '../jobs/model.ts'
import { Patterns } from '../../scheduler/operands.ts'
import type { ScheduledJob } from '../../scheduler/reconcile.ts'
import type { Scheduled } from '../../scheduler/schedule.ts'
import { ClusterMirror } from './cluster-mirror.ts'
import { decide, seenJob, type SeenJob } from './decide.ts'
import { ended } from './evaluation-end.ts'

export type DryRun = {
  readonly decision: Scheduled
  /** That would follow. */
  readonly evaluations: readonly NewEvaluation[]
  /** As it is registered; null: it is not. */
  readonly before: JobSpec | null
  readonly jobModifyIndex: number
}

export async function dryRun(reader: Reader, spec: JobSpec, clock: Clock): Promise<DryRun> {
  const { Namespace: namespace, ID: jobId, Priority: priority } = spec
  const seen = await seenJob(reader, { namespace, jobId }, { clock, asIfWanted: true })
  const cluster = await ClusterMirror.of(reader)
  const nowMs = Math.floor(clock.wallMs())
  const type = isJobType(spec.Type) ? spec.Type : 'service'
  const seed = { id: randomUUID(), namespace, jobId, type, priority, nowMs }
  const evaluation = newEvaluation({ ...seed, triggeredBy: 'job-register' })
  const context = { reader, clock, cluster, patterns: new Patterns() }
  const decision = decide(seen, registeredAs(seen, spec), evaluation, context)
  const { jobModifyIndex, snapshotIndex } = seen
  const row = { ...evaluation, createIndex: 0, modifyIndex: 0 }
  const common = { open: [], jobModifyIndex, deployment: null, snapshotIndex, nowMs }
  const end = { row, ...common, newId: randomUUID }
  const evaluations = ended(end, decision).filter(({ id }) => id !== evaluation.id)
  return { decision, evaluations, before: seen.newest?.spec ?? null, jobModifyIndex }
}

/** What the job would be. */
function registeredAs({ row, newest, jobModifyIndex }: SeenJob, spec: JobSpec): ScheduledJob {
  const isSame = newest !== null && row?.stop === false && isDeepStrictEqual(newest.spec, spec)
  return {
    spec,
    version: row === null ? 0 : row.version + (isSame ? 0 : 1),
    createIndex: row?.createIndex ?? 0,
    jobModifyIndex,
    stop: isTemplate(spec, row?.parent?.dispatched === true),
  }
}
