/** One look at a job, and what the scheduler makes of it: of workers and of dry runs. */
import { randomUUID } from 'node:crypto'
import { delay } from '../../lib/async.ts'
import type { Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import { isClientTerminal, type AllocationRow } from '../allocations/model.ts'
import { allocationsOfJob, specsOf } from '../allocations/queries.ts'
import type { DeploymentRow } from '../deployments/model.ts'
import { newestDeploymentOf } from '../deployments/queries.ts'
import type { EvaluationRow, JobKey } from '../evaluations/model.ts'
import { systemDeploymentsVersion } from '../jobs/later-model.ts'
import type { JobSpec } from '../jobs/model.ts'
import { jobOf, newestVersionOf } from '../jobs/queries.ts'
import { settingsOf } from '../scheduler-settings/queries.ts'
import type { Cluster } from '../../scheduler/decision.ts'
import type { Patterns } from '../../scheduler/operands.ts'
import type { ScheduledJob } from '../../scheduler/reconcile.ts'
import { otherWork } from './other-work.ts'
import { schedule, type Scheduled } from '../../scheduler/schedule.ts'

/** A page that is shorter is read in no time, or was the last one. */
const pausedRows = 256
const pauseMsMax = 250

export type SeenJob = {
  /** Null: there is none. */
  readonly row: ReturnType<typeof jobOf>
  readonly newest: ReturnType<typeof newestVersionOf>
  readonly jobModifyIndex: number
  readonly allocations: readonly AllocationRow[]
  readonly specOf: (allocation: AllocationRow) => JobSpec | null
  /** The newest one. */
  readonly deployment: DeploymentRow | null
  /** Of the state. */
  readonly snapshotIndex: number
}

/** Good for as long as the reader is. `asIfWanted`: it may be stopped, or not there, and is looked at as a job that runs. */
export async function seenJob(
  reader: Reader,
  { namespace, jobId }: JobKey,
  { clock, asIfWanted = false }: { readonly clock: Clock; readonly asIfWanted?: boolean },
): Promise<SeenJob> {
  const row = jobOf(reader, namespace, jobId)
  const isWanted = asIfWanted || row?.stop === false
  return {
    row,
    newest: row === null ? null : newestVersionOf(reader, row),
    jobModifyIndex: row?.jobModifyIndex ?? 0,
    allocations: await allocationsOf(reader, { namespace, jobId }, { clock, isWanted }),
    specOf: specsOf(reader),
    deployment: await newestDeploymentOf(reader, { namespace, jobId }),
    snapshotIndex: reader.appliedIndex,
  }
}

/**
 * Of a job that is to run nothing only those that may run: the others may be very many, and nothing follows from them. Behind each page a
 * pause as long as it took: what workers read of long jobs takes no more than half of the time of those that wait for the server.
 */
async function allocationsOf(
  reader: Reader,
  job: JobKey,
  { clock, isWanted }: { readonly clock: Clock; readonly isWanted: boolean },
): Promise<readonly AllocationRow[]> {
  const rows: AllocationRow[] = []
  let askedMs = clock.monotonicMs()
  for await (const page of allocationsOfJob(reader, job)) {
    rows.push(...(isWanted ? page : page.filter((row) => !isClientTerminal(row))))
    if (page.length < pausedRows) continue
    await delay(clock, Math.min(pauseMsMax, clock.monotonicMs() - askedMs))
    askedMs = clock.monotonicMs()
  }
  return rows
}

/** As it is registered. */
export function scheduledJobOf({ row, newest }: SeenJob): ScheduledJob | null {
  if (row === null || newest === null) return null
  const { version, createIndex, jobModifyIndex, stop, template } = row
  // A template runs nothing itself.
  return { spec: newest.spec, version, createIndex, jobModifyIndex, stop: stop || template }
}

/** The newest one, unless a job that had the id before left it behind. */
export function deploymentNow({ row, deployment }: SeenJob): DeploymentRow | null {
  return deployment?.jobCreateIndex === row?.createIndex ? deployment : null
}

export type DecideContext = {
  /** Of the state that was seen. */
  readonly reader: Reader
  readonly clock: Clock
  readonly cluster: Cluster
  readonly patterns: Patterns
}

export function decide(
  { allocations, specOf, deployment }: SeenJob,
  job: ScheduledJob | null,
  evaluation: Pick<EvaluationRow, 'id' | 'namespace' | 'jobId' | 'triggeredBy' | 'skipsDelay'>,
  { reader, clock, cluster, patterns }: DecideContext,
): Scheduled {
  return schedule({
    evaluation,
    job,
    allocations,
    specOf,
    deployment,
    deploysSystemJobs: reader.commandVersion >= systemDeploymentsVersion,
    cluster,
    settings: settingsOf(reader),
    workOn: (nodeId) => otherWork(reader, cluster.usageOf(nodeId).ids, evaluation),
    patterns,
    random: seededRandom(Number.parseInt(evaluation.id.slice(0, 8), 16)),
    newId: randomUUID,
    nowMs: Math.floor(clock.wallMs()),
    monotonicUs: () => clock.monotonicMs() * 1_000,
  })
}
