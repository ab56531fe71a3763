/** What agents say of the allocations of their nodes, many in one entry. Nothing else says what became of an allocation, but a lost node. */
import { isDeepStrictEqual } from 'node:util'
import { Type, type Static } from 'typebox'
import type { Applied, Change, Reader } from '../../fsm/domain.ts'
import { defineCommand, put, replace, TimeMs } from '../define.ts'
import {
  derivedId,
  workloadsVersion,
  type EvaluationRow,
  type Trigger,
  keyOfJob,
} from '../evaluations/model.ts'
import { evaluations } from '../evaluations/table.ts'
import { evaluationOf } from '../jobs/job-evaluation-model.ts'
import { isActive, type DeploymentRow } from '../deployments/model.ts'
import { deploymentById } from '../deployments/queries.ts'
import { NodeId } from '../nodes/model.ts'
import { DeploymentDrafts } from './deployed-commands.ts'
import { reportsMax } from './feed-model.ts'
import {
  ClientReport,
  isClientTerminal,
  wasCutShort,
  type AllocationRow,
  type ClientReport as Report,
} from './model.ts'
import { allocationById, hasOlderVersion, takenOf } from './queries.ts'
import { allocations } from './table.ts'
import { takenChanges, type TakenRow } from './taken-model.ts'
import { jobChanges, JobWork, workingJobs, type WorkingJob } from './work-commands.ts'

/** The command version from which on a job is looked at again when an agent ended what was to run on. */
const cutShortVersion = 13

/** The command version from which on a report without a health leaves what is known of it, as an operator said it. */
const keptHealthVersion = 16

/** From the placement of one that was cut short to the next look at its job, at least. */
const cutShortAgainMs = 10_000

export const Reported = Type.Object({ node: NodeId, report: ClientReport })
export type Reported = Static<typeof Reported>

/** An allocation that an entry of reports changed. */
export type Changed = {
  readonly id: string
  readonly node: string
  /** It ended with this report: what it took of the node is free. */
  readonly ended: boolean
}

export type ReportedOutcome = {
  readonly changed: readonly Changed[]
  /** Of allocations that are not the node's, or are gone. */
  readonly unknown: readonly { readonly node: string; readonly id: string }[]
  /** That follow from it. */
  readonly evaluations: readonly string[]
}

type Found = {
  readonly rows: ReadonlyMap<string, AllocationRow>
  /** By node. */
  readonly taken: ReadonlyMap<string, TakenRow>
  readonly jobs: ReadonlyMap<string, WorkingJob>
  /** Jobs of which older versions are being replaced. */
  readonly updating: ReadonlySet<string>
  readonly deployments: ReadonlyMap<string, DeploymentRow>
  /** The cluster knows `cutShortVersion`. */
  readonly looksAtCutShort: boolean
  /** It knows `keptHealthVersion`. */
  readonly keepsHealth: boolean
}

export const reportAllocations = defineCommand({
  type: 'allocations.reported',
  since: workloadsVersion,
  args: Type.Object({
    reports: Type.Array(Reported, { maxItems: reportsMax }),
    nowMs: TimeMs,
  }),
  load: async (reader, { reports }): Promise<Found> => {
    const rows = new Map<string, AllocationRow>()
    for (const { report } of reports) {
      const row = allocationById(reader, report.id)
      if (row !== null) rows.set(row.id, row)
    }
    const { ending, judged } = jobsOfReports(reports, rows)
    const jobs = await workingJobs(
      reader,
      rows.values(),
      new Set(),
      (key) => !ending.has(keyOfJob(key)),
    )
    const taken = takenOf(reader, new Set([...rows.values()].map(({ nodeId }) => nodeId)))
    const deployments = deploymentsOf(reader, rows.values())
    const updating = await updatingOf(reader, jobs, judged)
    const looksAtCutShort = reader.commandVersion >= cutShortVersion
    const keepsHealth = keepsHealthOf(reader)
    return { rows, taken, jobs, updating, deployments, looksAtCutShort, keepsHealth }
  },
  apply: ({ index }, { reports, nowMs }, found): Applied<ReportedOutcome> => {
    const draft = new ReportDraft(found, { index, nowMs })
    for (const one of reports) draft.take(one)
    return { changes: draft.changes(), outcome: draft.outcome() }
  },
})

/**
 * By `keyOfJob`. `ending`: those that an allocation ends of, or ended of before; all of the others goes on. `judged`: those that
 * another health is said of.
 */
function jobsOfReports(
  reports: readonly Reported[],
  rows: ReadonlyMap<string, AllocationRow>,
): { readonly ending: ReadonlySet<string>; readonly judged: ReadonlySet<string> } {
  const ending = new Set<string>()
  const judged = new Set<string>()
  for (const { report } of reports) {
    const row = rows.get(report.id)
    if (row === undefined) continue
    const key = keyOfJob(row)
    if (isClientTerminal(row) || isClientTerminal(report)) ending.add(key)
    if (report.health?.healthy !== row.health?.healthy) judged.add(key)
  }
  return { ending, judged }
}

async function updatingOf(
  reader: Reader,
  jobs: ReadonlyMap<string, WorkingJob>,
  judged: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const updating = new Set<string>()
  for (const [key, { row }] of jobs) {
    if (judged.has(key) && (await hasOlderVersion(reader, row))) updating.add(key)
  }
  return updating
}

function deploymentsOf(
  reader: Reader,
  rows: Iterable<AllocationRow>,
): ReadonlyMap<string, DeploymentRow> {
  const found = new Map<string, DeploymentRow>()
  for (const { deploymentId } of rows) {
    const row = deploymentId === undefined ? null : deploymentById(reader, deploymentId)
    if (row !== null) found.set(row.id, row)
  }
  return found
}

class ReportDraft {
  readonly #found: Found
  readonly #moment: { readonly index: number; readonly nowMs: number }
  readonly #rows = new Map<string, AllocationRow>()
  readonly #changed = new Map<string, Changed>()
  readonly #unknown: { readonly node: string; readonly id: string }[] = []
  readonly #work = new Map<string, JobWork>()
  readonly #evaluations = new Map<string, EvaluationRow>()
  readonly #deployments: DeploymentDrafts

  constructor(found: Found, moment: { readonly index: number; readonly nowMs: number }) {
    this.#found = found
    this.#moment = moment
    this.#deployments = new DeploymentDrafts(found.deployments, moment)
  }

  take({ node, report }: Reported): void {
    const before = this.#rows.get(report.id) ?? this.#found.rows.get(report.id)
    if (before === undefined || before.nodeId !== node) {
      this.#unknown.push({ node, id: report.id })
      return
    }
    const { keepsHealth } = this.#found
    if (!isNews(before, report, keepsHealth)) return
    const { index, nowMs } = this.#moment
    const { id, ...told } = withHealth(report, before, keepsHealth)
    const row: AllocationRow = { ...before, ...told, modifyMs: nowMs, modifyIndex: index }
    this.#rows.set(id, row)
    this.#deployments.changed(before, row)
    const ended = !isClientTerminal(before) && isClientTerminal(row)
    this.#changed.set(id, { id, node, ended: ended || this.#changed.get(id)?.ended === true })
    const key = keyOfJob(row)
    const work = this.#work.get(key) ?? new JobWork()
    this.#work.set(key, work)
    if (before.clientStatus !== row.clientStatus) {
      work.counts.push({ group: row.group, from: before.clientStatus, to: row.clientStatus })
    }
    const trigger = this.#triggerOf(before, row)
    if (trigger !== null && this.#evaluate(row, trigger)) work.openEvaluations = true
  }

  changes(): readonly Change[] {
    const moves = [...this.#rows.values()].flatMap((row) => {
      const before = this.#found.rows.get(row.id)
      return before === undefined ? [] : [[before, row] as const]
    })
    return [
      ...moves.map(([before, row]) => replace(allocations, before, row)),
      ...takenChanges(this.#found.taken, moves),
      ...this.#deployments.changes(),
      ...[...this.#evaluations.values()].map((row) => put(evaluations, row)),
      ...jobChanges(this.#work, this.#found.jobs, this.#moment.index),
    ]
  }

  outcome(): ReportedOutcome {
    return {
      changed: [...this.#changed.values()],
      unknown: this.#unknown,
      evaluations: [...this.#evaluations.values()].map(({ id }) => id),
    }
  }

  /** Why its job is looked at again; null: there is no need. */
  #triggerOf(before: AllocationRow, row: AllocationRow): Trigger | null {
    if (row.desiredStatus !== 'run' || before.clientStatus === 'lost') return null
    if (before.clientStatus === 'unknown') return 'reconnect'
    if (row.clientStatus === 'failed' && before.clientStatus !== 'failed') return 'alloc-failure'
    if (this.#found.looksAtCutShort && wasCutShort(row)) return 'alloc-stop'
    const isJudged = row.health !== null && row.health.healthy !== before.health?.healthy
    if (!isJudged) return null
    const deployment = this.#deployments.of(row.deploymentId)
    if (deployment !== null && isActive(deployment)) return 'deployment-watcher'
    return this.#found.updating.has(keyOfJob(row)) ? 'rolling-update' : null
  }

  /** One of a job and a trigger is enough for all that one entry reports. False: the job is gone. */
  #evaluate(row: AllocationRow, triggeredBy: Trigger): boolean {
    const job = this.#found.jobs.get(keyOfJob(row))
    if (job === undefined) return false
    const { namespace, id: jobId } = job.row
    const id = derivedId(this.#moment, triggeredBy, namespace, jobId)
    const { deploymentId } = row
    const about = { id, triggeredBy, ...(deploymentId !== undefined && { deploymentId }) }
    const made = evaluationOf(job.row, about, this.#moment)
    const waitUntilMs = triggeredBy === 'alloc-stop' ? this.#begunAgainMs(row) : 0
    const sooner = Math.min(waitUntilMs, this.#evaluations.get(id)?.waitUntilMs ?? waitUntilMs)
    this.#evaluations.set(id, { ...made, waitUntilMs: sooner })
    return true
  }

  /** An agent that ends at once whatever it gets makes no more work than this. 0: now. */
  #begunAgainMs({ createMs }: AllocationRow): number {
    const atMs = createMs + cutShortAgainMs
    return atMs > this.#moment.nowMs ? atMs : 0
  }
}

export function keepsHealthOf({ commandVersion }: Pick<Reader, 'commandVersion'>): boolean {
  return commandVersion >= keptHealthVersion
}

/**
 * What has ended stays so. Of one that was lost, its agent may say once how it ended. `keepsHealth`: an agent that has found nothing
 * takes back no health.
 */
export function isNews(row: AllocationRow, report: Report, keepsHealth: boolean): boolean {
  if (row.clientStatus === 'lost') return isClientTerminal(report)
  if (isClientTerminal(row)) return false
  const { id, clientStatus, clientDescription, tasks, health } = row
  const known = { id, clientStatus, clientDescription, tasks, health }
  return !isDeepStrictEqual(known, withHealth(report, row, keepsHealth))
}

function withHealth(report: Report, { health }: AllocationRow, keepsHealth: boolean): Report {
  return keepsHealth && report.health === null ? { ...report, health } : report
}
