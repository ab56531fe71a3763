/**
 * The leader starts periodic jobs in their time. When each was started last is in the state: a new leader starts once what was
 * to be started while none led, and goes on.
 */
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { OnCommand, Reader } from '../../fsm/domain.ts'
import { chunks } from '../../lib/chunks.ts'
import { periodic as rounds, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { keyOfJob } from '../evaluations/model.ts'
import { onView } from '../host.ts'
import { deregisterJob, registerJob } from './commands.ts'
import { dispatchJob, launchJob } from './launch-commands.ts'
import { launchedId } from './dispatch-model.ts'
import { isOverlapped, jobOf, newestVersionOf, periodicJobs } from './queries.ts'
import { schedulesOf } from './rules-model.ts'
import type { JobRow } from './table.ts'
import { nextLaunchMs } from './zones.ts'

/** The wall clock may be set: no wait is longer. */
const roundMs = 30_000
const retryMs = 1_000
const gapMs = 20
/** Later than this the launch has the time at which it is made. */
const lateMs = 10_000
/** A launch that lies further ahead was made by a clock that was wrong, here or on another server. */
const aheadMsMax = 60_000
const launchesAtOnce = 16
/** Which are looked into before others have a turn: a new leader looks into those of all periodic jobs. */
const schedulesPerTurn = 64

type JobKey = Pick<JobRow, 'namespace' | 'id'>

type Planned = JobKey & { readonly jobModifyIndex: number; readonly dueMs: number }

export type LaunchesContext = DutyContext & { readonly onCommand: OnCommand }

export function startLaunches(context: LaunchesContext): Running {
  return new Launches(context)
}

class Launches implements Running {
  readonly #context: LaunchesContext
  readonly #planned = new Map<string, Planned>()
  readonly #changed = new Map<string, JobKey>()
  /**
   * Up to then a job was looked after, though its row does not say so: it was not to start, for one of its id that was registered
   * before overlaps, or its row says `#ahead`. Of this leader alone: the next one makes up for the last.
   */
  readonly #sinceMs = new Map<string, number>()
  /** Last launches of rows that lie ahead of the clock, and count for nothing until it is there. */
  readonly #ahead = new Map<string, number>()
  readonly #unsubscribe: readonly (() => void)[]
  readonly #rounds: ReturnType<typeof rounds>
  #isRead = false
  #lookedMs = 0
  /** Schedules looked into since others had a turn. */
  #looked = 0

  constructor(context: LaunchesContext) {
    const { clock, log, onCommand } = context
    this.#context = context
    this.#rounds = rounds({
      clock,
      log,
      failure: 'periodic jobs could not be started',
      everyMs: roundMs,
      retryMs,
      gapMs: () => gapMs,
      round: (signal) => this.#round(signal),
    })
    const changed = ({ args: { namespace, id } }: { readonly args: JobKey }) => {
      this.#changed.set(keyOf({ namespace, id }), { namespace, id })
      this.#rounds.wake()
    }
    this.#unsubscribe = [
      onCommand(registerJob, (applied) => {
        if (applied.args.spec.Periodic !== null) changed(applied)
      }),
      onCommand(dispatchJob, ({ args: { namespace }, outcome }) => {
        if (outcome.type !== 'launched' || outcome.row.periodic === undefined) return
        changed({ args: { namespace, id: outcome.row.id } })
      }),
      onCommand(deregisterJob, ({ args }) => {
        if (this.#planned.has(keyOf(args))) changed({ args })
      }),
    ]
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await this.#rounds.stop()
  }

  async #round(signal: AbortSignal): Promise<number> {
    await this.#look(signal)
    const nowMs = this.#context.clock.wallMs()
    const due = [...this.#planned.values()].filter(({ dueMs }) => dueMs <= nowMs)
    for (const together of chunks(due, launchesAtOnce)) {
      if (signal.aborted) break
      const settled = await Promise.allSettled(together.map((planned) => this.#launch(planned)))
      for (const result of settled) if (result.status === 'rejected') throw result.reason
    }
    if (due.length > 0) return 0
    const next = Math.min(...[...this.#planned.values()].map(({ dueMs }) => dueMs))
    return Math.max(0, Math.min(roundMs, next - nowMs))
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, log, view } = this.#context
    const nowMs = clock.wallMs()
    if (nowMs < this.#lookedMs - aheadMsMax && this.#isRead) {
      log.warn('the clock of this machine was put back: periodic jobs are planned anew')
      this.#isRead = false
    }
    this.#lookedMs = nowMs
    // Before the view is opened: what changes while it is read is not in it.
    const changed = [...this.#changed.values()]
    this.#changed.clear()
    try {
      await onView(view, async (reader) => {
        if (!this.#isRead) {
          for await (const page of periodicJobs(reader)) {
            for (const row of page) await this.#planInTurn(reader, row, signal)
          }
          this.#isRead = true
        }
        for (const key of changed) {
          const row = jobOf(reader, key.namespace, key.id)
          await this.#planInTurn(reader, row ?? key, signal)
        }
      })
    } catch (error) {
      // With those that changed.
      this.#isRead = false
      if (!signal.aborted) throw error
    }
  }

  /** Rejects at the stop. */
  async #planInTurn(reader: Reader, job: JobRow | JobKey, signal: AbortSignal): Promise<void> {
    if (this.#looked >= schedulesPerTurn) {
      this.#looked = 0
      await setImmediate()
      signal.throwIfAborted()
    }
    this.#plan(reader, job)
  }

  /** From the last launch on, not from now: what is past is due. */
  #plan(reader: Reader, job: JobRow | JobKey): void {
    const key = keyOf(job)
    this.#planned.delete(key)
    if (!('periodic' in job) || job.periodic === undefined || job.stop) {
      this.#sinceMs.delete(key)
      this.#ahead.delete(key)
      return
    }
    const periodic = newestVersionOf(reader, job)?.spec.Periodic ?? null
    this.#looked += periodic === null ? 1 : schedulesOf(periodic).length
    const sinceMs = this.#lastMs(key, job.periodic.launchedMs)
    const dueMs = periodic === null ? null : nextLaunchMs(periodic, sinceMs)
    if (dueMs === null) return
    const { namespace, id, jobModifyIndex } = job
    this.#planned.set(key, { namespace, id, jobModifyIndex, dueMs })
  }

  /** What lies ahead counts for nothing: else a clock that was wrong for a moment would stop jobs for as long as it was wrong by. */
  #lastMs(key: string, launchedMs: number): number {
    const nowMs = Math.floor(this.#context.clock.wallMs())
    const known = this.#sinceMs.get(key) ?? 0
    const ownMs = known > nowMs + aheadMsMax ? 0 : known
    // Still so when the clock has nearly come there.
    const isAhead = launchedMs > nowMs + aheadMsMax || this.#ahead.get(key) === launchedMs
    if (!isAhead || launchedMs <= nowMs) {
      this.#ahead.delete(key)
      return Math.max(launchedMs, ownMs)
    }
    this.#ahead.set(key, launchedMs)
    const sinceMs = ownMs === 0 ? nowMs : ownMs
    this.#sinceMs.set(key, sinceMs)
    return sinceMs
  }

  async #launch({ namespace, id, jobModifyIndex, dueMs }: Planned): Promise<void> {
    const { clock, log, propose, view } = this.#context
    const nowMs = Math.floor(clock.wallMs())
    const job = { namespace, id }
    const key = keyOf(job)
    const { row, isSkipped, isLaunched } = await onView(view, async (reader) => {
      const row = jobOf(reader, namespace, id)
      return {
        row,
        isSkipped: row !== null && (await isOverlapped(reader, row)),
        isLaunched: jobOf(reader, namespace, launchedId(id, dueMs)) !== null,
      }
    })
    if (isSkipped) {
      this.#sinceMs.set(key, nowMs)
      this.#changed.set(key, job)
      log.info('a periodic job was not started: an earlier launch runs', job)
      return
    }
    // By time, but the command refuses what is not after the last launch. A time that was launched has its job already.
    const forced = row?.periodic !== undefined && this.#ahead.get(key) === row.periodic.launchedMs
    const isLate = nowMs - dueMs > lateMs && !(forced && isLaunched)
    const { outcome } = await propose(launchJob, {
      namespace,
      parentId: id,
      parentModifyIndex: jobModifyIndex,
      launchMs: isLate ? nowMs : dueMs,
      forced,
      evaluationId: randomUUID(),
      nowMs,
    })
    if (forced) this.#sinceMs.set(key, nowMs)
    this.#changed.set(key, job)
    if (outcome.type === 'launched') {
      log.info('a periodic job was started', { ...job, started: outcome.row.id })
    } else if (outcome.type === 'overlaps') {
      log.info('a periodic job was not started: an earlier launch runs', job)
    }
  }
}

function keyOf({ namespace, id: jobId }: JobKey): string {
  return keyOfJob({ namespace, jobId })
}
