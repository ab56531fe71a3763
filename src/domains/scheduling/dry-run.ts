/** What the scheduler would do for a job, on a state as it is: nothing is written. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import type { AllocationRow } from '../allocations/model.ts'
import { allocationsOfJob, versionOfAllocation } from '../allocations/queries.ts'
import { newestDeploymentOf } from '../deployments/queries.ts'
import { newEvaluation, type NewEvaluation } from '../evaluations/model.ts'
import { isJobType } from '../evaluations/job-type-model.ts'
import { kindOf } from '../jobs/kind-model.ts'
import type { JobSpec } from '../jobs/model.ts'
import { jobOf, newestVersionOf } from '../jobs/queries.ts'
import { Patterns } from '../../scheduler/operands.ts'
import { schedule, type Scheduled } from '../../scheduler/schedule.ts'
import { ClusterMirror } from './cluster-mirror.ts'
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
  const row = jobOf(reader, namespace, jobId)
  const newest = row === null ? null : newestVersionOf(reader, row)
  const allocations: AllocationRow[] = []
  for await (const page of allocationsOfJob(reader, { namespace, jobId })) {
    allocations.push(...page)
  }
  const mirror = new ClusterMirror()
  await mirror.read(reader)
  mirror.refresh(reader)
  const nowMs = Math.floor(clock.wallMs())
  const type = isJobType(spec.Type) ? spec.Type : 'service'
  const seed = { id: randomUUID(), namespace, jobId, type, priority, nowMs }
  const evaluation = newEvaluation({ ...seed, triggeredBy: 'job-register' })
  const jobModifyIndex = row?.jobModifyIndex ?? 0
  const isTemplate = kindOf(spec) !== 'plain' && row?.parent?.dispatched !== true
  const isSame = newest !== null && row?.stop === false && isDeepStrictEqual(newest.spec, spec)
  const version = row === null ? 0 : row.version + (isSame ? 0 : 1)
  const decision = schedule({
    evaluation,
    job: {
      spec,
      version,
      createIndex: row?.createIndex ?? 0,
      jobModifyIndex,
      stop: isTemplate,
    },
    allocations,
    deployment: await newestDeploymentOf(reader, { namespace, jobId }),
    specOf: (allocation) => versionOfAllocation(reader, allocation)?.spec ?? null,
    cluster: mirror,
    patterns: new Patterns(),
    random: seededRandom(Number.parseInt(evaluation.id.slice(0, 8), 16)),
    newId: randomUUID,
    nowMs,
    monotonicUs: () => clock.monotonicMs() * 1_000,
  })
  const context = {
    row: { ...evaluation, createIndex: 0, modifyIndex: 0 },
    open: [],
    jobModifyIndex,
    snapshotIndex: reader.appliedIndex,
    nowMs,
    newId: randomUUID,
  }
  const evaluations = ended(context, decision).filter(({ id }) => id !== evaluation.id)
  return { decision, evaluations, before: newest?.spec ?? null, jobModifyIndex }
}
