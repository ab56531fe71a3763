/**
 * The leader's scheduling: keeps the queue of evaluations, the blocked ones and the mirror of the cluster, and has workers take from the queue;
 * what they have no room for is lent to those of other servers.
 * All of it is derived from the state when a term begins, and kept by what is applied from then on. Evaluations that no command names
 * (those of reactions) are found by looking at the open ones, soon after a node changed and else each second in which any was written.
 */
import { proposable, type Reader } from '../../fsm/domain.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import { Patterns } from '../../scheduler/operands.ts'
import type { Plan, PlanOutcome } from '../allocations/plan-model.ts'
import type { DutyContext } from '../duty.ts'
import { settledWorkloadsVersion, type NewEvaluation } from '../evaluations/model.ts'
import { evaluationById, evaluationsIndex, openEvaluations } from '../evaluations/queries.ts'
import { onView } from '../host.ts'
import type { SchedulerSettingsRow } from '../scheduler-settings/model.ts'
import { settingsOf } from '../scheduler-settings/queries.ts'
import { BlockedEvaluations } from './blocked-evaluations.ts'
import { ClusterMirror } from './cluster-mirror.ts'
import { EvaluationQueue, type Queued } from './evaluation-queue.ts'
import { Lender } from './lender.ts'
import type { Observed } from './observed-commands.ts'
import { giveUp, workOn, type WorkContext } from './work-on.ts'
import type { Task, WorkerPool } from './workers.ts'

/** Of the domain `allocations`. */
const applyPlan = proposable<Plan, PlanOutcome>('allocations.plan')

const everyMs = 1_000
const retryMs = 500
/** Between two rounds, and of the time that the last one took. */
const gapMs = 10
const gapPerRound = 2
const refusedAgainMs = 60_000

export type SchedulingContext = DutyContext & {
  /** Returns the way to stop. */
  readonly observe: (saw: (observed: Observed) => void) => () => void
  readonly workers: WorkerPool
  /** Where other servers' workers find what is lent while this server leads; null: at nobody. */
  readonly lending: { lender: Lender | null }
}

export function startScheduling(context: SchedulingContext): Running {
  return new Scheduling(context)
}

class Scheduling implements Running {
  readonly #context: SchedulingContext
  readonly #queue: EvaluationQueue
  readonly #blocked = new BlockedEvaluations()
  readonly #mirror = new ClusterMirror()
  readonly #lender: Lender
  readonly #work: Omit<WorkContext, 'onState'>
  readonly #named = new Set<string>()
  /** By class, when a node of it got room. */
  readonly #room = new Map<string, number>()
  readonly #under = new Set<Promise<void>>()
  readonly #unsubscribe: readonly (() => void)[]
  readonly #rounds: ReturnType<typeof periodic>
  /** Of the state in which the open evaluations were looked at last. */
  #lookedIndex = 0
  #lookedMs = 0
  #looksSoon = true
  #refusedMs: number
  #roundMs = 0
  /** Of the settings as they were seen last; null: they were not. */
  #settingsIndex: number | null = null
  #isPaused = false
  /** All servers can read what is planned. */
  #isKnown = false
  #isStopping = false

  constructor(context: SchedulingContext) {
    const { clock, log, view, propose, observe, lending } = context
    this.#context = context
    this.#refusedMs = clock.monotonicMs()
    this.#queue = new EvaluationQueue(clock, () => this.#pump())
    this.#work = {
      clock,
      view,
      submit: async (plan) => (await propose(applyPlan, plan)).outcome,
      mirror: this.#mirror,
      refresh: () => this.#refresh(),
      patterns: new Patterns(),
    }
    this.#lender = new Lender({
      clock,
      queue: this.#queue,
      mirror: this.#mirror,
      view,
      submit: (plan) => propose(applyPlan, plan),
      ownTypes: () => context.workers.typesTaken,
      takes: () => this.#takes,
      onFailed: (id) => this.#own(this.#failed(id)),
      onEnded: (id) => this.#ended(id),
    })
    lending.lender = this.#lender
    this.#rounds = periodic({
      clock,
      log,
      failure: 'the scheduler could not read the state',
      everyMs,
      retryMs,
      gapMs: () => Math.max(gapMs, gapPerRound * this.#roundMs),
      round: () => this.#round(),
    })
    this.#unsubscribe = [
      observe((observed) => this.#saw(observed)),
      context.workers.listen(() => this.#pump()),
    ]
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    const { lending } = this.#context
    if (lending.lender === this.#lender) lending.lender = null
    this.#lender.stop()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#queue.stop()
    await this.#rounds.stop()
    await Promise.all(this.#under)
  }

  #saw(observed: Observed): void {
    const { nodes = [], evaluations = [] } = observed
    this.#mirror.changed(observed)
    for (const id of evaluations) this.#named.add(id)
    if (nodes.length > 0) this.#looksSoon = true
    this.#rounds.wake()
  }

  async #round(): Promise<void> {
    const startMs = this.#context.clock.monotonicMs()
    if (!this.#mirror.isRead) await this.#readMirror()
    await onView(this.#context.view, async (reader) => {
      this.#refresh()
      this.#takeNamed(reader)
      const index = evaluationsIndex(reader)
      const looks = this.#looksSoon || startMs - this.#lookedMs >= everyMs
      if (looks && index > this.#lookedIndex) await this.#look(reader)
    })
    this.#unblock(startMs)
    this.#roundMs = this.#context.clock.monotonicMs() - startMs
    this.#pump()
  }

  async #readMirror(): Promise<void> {
    await onView(this.#context.view, async (reader) => {
      // While nobody led a node may have got room that a blocked evaluation waits for.
      for (const name of await this.#mirror.read(reader)) this.#room.set(name, reader.appliedIndex)
    })
  }

  async #look(reader: Reader): Promise<void> {
    this.#looksSoon = false
    this.#lookedMs = this.#context.clock.monotonicMs()
    this.#lookedIndex = reader.appliedIndex
    for await (const page of openEvaluations(reader, 'pending')) {
      for (const row of page) this.#add(row)
    }
    const blocked = new Set<string>()
    for await (const page of openEvaluations(reader, 'blocked')) {
      for (const row of page) {
        blocked.add(row.id)
        this.#dispatch(row)
      }
    }
    this.#blocked.keepOnly(blocked)
  }

  #takeNamed(reader: Reader): void {
    for (const id of this.#named) {
      const row = evaluationById(reader, id)
      if (row !== null) this.#dispatch(row)
    }
    this.#named.clear()
  }

  #dispatch(row: NewEvaluation): void {
    if (row.status === 'pending') this.#add(row)
    else if (row.status !== 'blocked') this.#blocked.remove(row.id)
    else if (!this.#queue.has(row.id) && !this.#blocked.add(row)) this.#queue.add(row)
  }

  /** What the storm brake holds stays pending, and is found again at its release, or when its node is back. */
  #add(row: NewEvaluation): void {
    if (!this.#mirror.holds(row)) this.#queue.add(row)
  }

  /** On the newest state: what was marked came with it, and an older view would take it back. */
  #refresh(): void {
    const held = this.#mirror.heldStorm
    onView(this.#context.view, (reader) => {
      for (const name of this.#mirror.refresh(reader)) this.#room.set(name, reader.appliedIndex)
      this.#heed(settingsOf(reader))
      this.#isKnown = reader.commandVersion >= settledWorkloadsVersion
      if (this.#mirror.heldStorm !== held) this.#looksAgain()
    })
  }

  /** What has no place may have one by other settings. */
  #heed({ modifyIndex, pausesEvaluations }: SchedulerSettingsRow): void {
    if (modifyIndex === this.#settingsIndex) return
    const before = this.#settingsIndex
    this.#settingsIndex = modifyIndex
    this.#isPaused = pausesEvaluations
    if (before !== null) for (const row of this.#blocked.takeAll()) this.#queue.add(row)
  }

  /** Nothing was written, and what was held is to be found. */
  #looksAgain(): void {
    this.#lookedIndex = 0
    this.#looksSoon = true
    this.#rounds.wake()
  }

  #unblock(nowMs: number): void {
    const unblocked: Queued[] = []
    for (const [name, index] of this.#room) unblocked.push(...this.#blocked.gotRoom(name, index))
    this.#room.clear()
    if (nowMs - this.#refusedMs >= refusedAgainMs) {
      this.#refusedMs = nowMs
      unblocked.push(...this.#blocked.takeRefused())
    }
    for (const row of unblocked) this.#queue.add(row)
  }

  get #takes(): boolean {
    return !this.#isStopping && !this.#isPaused && this.#isKnown && this.#mirror.isRead
  }

  /** Takes as many as the workers have room for. */
  #pump(): void {
    const { workers } = this.#context
    while (this.#takes && workers.hasRoom) {
      const taken = this.#queue.take(workers.types)
      if (taken === null) break
      const task = workers.begin()
      const worked = this.#workOn(taken, task).finally(() => {
        task.end()
        this.#pump()
      })
      this.#own(worked)
    }
    if (this.#queue.hasReady) this.#lender.offer()
  }

  /** It is waited for when this stops. */
  #own(work: Promise<void>): void {
    const owned = work.finally(() => this.#under.delete(owned))
    this.#under.add(owned)
  }

  /** Never rejects. */
  async #workOn({ id, jobId, namespace }: Queued, task: Task): Promise<void> {
    const { log } = this.#context
    try {
      const written = await workOn(id, { ...this.#work, onState: (doing) => task.become(doing) })
      this.#queue.done(id)
      for (const row of written) this.#dispatch(row)
    } catch (error) {
      const level = codeOf(error) === 'internal' ? 'error' : 'warn'
      log[level]('an evaluation could not be worked on', {
        evaluation: id,
        job: jobId,
        namespace,
        error: textOf(error),
      })
      await this.#failed(id)
    }
  }

  /** Its worker could not end it. Never rejects. */
  async #failed(id: string): Promise<void> {
    if (!this.#queue.failed(id)) await this.#giveUp(id)
  }

  /** By a worker of another server. It may be blocked now, which was passed over while it was worked on. */
  #ended(id: string): void {
    this.#queue.done(id)
    this.#named.add(id)
    this.#rounds.wake()
  }

  async #giveUp(id: string): Promise<void> {
    try {
      const written = await giveUp(id, { ...this.#work, onState: () => {} })
      for (const row of written) this.#dispatch(row)
    } catch (error) {
      const text = { evaluation: id, error: textOf(error) }
      this.#context.log.warn('an evaluation could not be given up', text)
    }
    // Where it is still open it is found again when the open ones are looked at.
    this.#queue.done(id)
  }
}
