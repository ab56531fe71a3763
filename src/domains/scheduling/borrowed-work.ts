/**
 * The work of this server's workers while another one leads: they ask the leader for evaluations that its own have no room for, decide on
 * this server's state, and hand in their plans. A mirror of the cluster is kept only while there is such work.
 */
import { Pause } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { AskLeader } from '../../rpc/ask-leader.ts'
import type { Provided } from '../../rpc/services.ts'
import { Patterns } from '../../scheduler/operands.ts'
import type { Plan, PlanOutcome } from '../allocations/plan-model.ts'
import { settledWorkloadsVersion } from '../evaluations/model.ts'
import { caughtUpTo, onView, type OpenView, type ReadBarrier } from '../host.ts'
import type { appliedCommands } from '../sessions/services.ts'
import { ClusterMirror } from './cluster-mirror.ts'
import type { LentEvaluation } from './lender.ts'
import { loanMax, loanWaitMsMax, prolongMs } from './model.ts'
import { observe } from './observed-commands.ts'
import { lendMethod, prolongMethod, returnMethod, submitMethod } from './peer-methods.ts'
import { workOn } from './work-on.ts'
import type { Task, WorkerPool } from './workers.ts'

/** Between two looks of a server whose workers cannot take anything, or whose leader cannot be asked. */
const restMs = 1_000
/** The mirror is kept for so long after the last evaluation. */
const mirrorMs = 60_000
/** A server that stops gives back what it has, if the leader takes it within this time. */
const returnMs = 1_000

export type BorrowedWorkOptions = {
  readonly clock: Clock
  readonly log: Logger
  readonly view: OpenView
  readonly applied: Provided<typeof appliedCommands>
  readonly barrier: ReadBarrier
  readonly ask: AskLeader
  readonly workers: WorkerPool
  readonly leads: () => boolean
}

type Kept = {
  readonly mirror: ClusterMirror
  /** The mirror has been read. */
  readonly isRead: Promise<unknown>
  readonly forget: () => void
}

export class BorrowedWork implements Running {
  readonly #options: BorrowedWorkOptions
  readonly #stopping = new AbortController()
  /** Nothing is given back any more. */
  readonly #left = new AbortController()
  readonly #pause: Pause
  readonly #patterns = new Patterns()
  /** By token. */
  readonly #under = new Map<string, LentEvaluation>()
  readonly #working = new Set<Promise<void>>()
  #kept: Kept | null = null
  #lastMs = 0
  #unsubscribe = (): void => {}
  #running: Promise<void> = Promise.resolve()
  #prolonging: Running | null = null

  constructor(options: BorrowedWorkOptions) {
    this.#options = options
    this.#pause = new Pause(options.clock)
  }

  start(): void {
    const { clock, log, workers } = this.#options
    this.#unsubscribe = workers.listen(() => this.#pause.end())
    this.#running = this.#run()
    this.#prolonging = periodic({
      clock,
      log,
      failure: 'the leader was not told that evaluations are still worked on',
      everyMs: prolongMs,
      retryMs: prolongMs,
      round: () => this.#prolong(),
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#unsubscribe()
    const timer = this.#options.clock.setTimer(returnMs, () => this.#left.abort())
    await Promise.all([this.#running, this.#prolonging?.stop()])
    await Promise.all(this.#working)
    timer.cancel()
    this.replaced()
  }

  /** The state is another as a whole. */
  replaced(): void {
    this.#kept?.forget()
    this.#kept = null
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#stopping
    while (!signal.aborted) {
      this.#forgetIdle(clock.monotonicMs())
      try {
        if (await this.#borrow()) continue
      } catch (error) {
        log.debug('the leader lends no evaluations', { error: textOf(error) })
      }
      await this.#pause.wait(restMs, signal)
    }
  }

  /** False: there is nobody to ask, or nobody to work. */
  async #borrow(): Promise<boolean> {
    const { leads, workers, ask } = this.#options
    const max = Math.min(loanMax, workers.room)
    if (leads() || max === 0 || !this.#isKnown()) return false
    const { index, evaluations } = await ask(this.#from(), lendMethod, {
      types: [...workers.types],
      max,
      waitMs: loanWaitMsMax,
    })
    for (const lent of evaluations) this.#begin(lent, index)
    return true
  }

  /** Whether the leader, and all servers, can read what is planned. */
  #isKnown(): boolean {
    const { view } = this.#options
    return onView(view, ({ commandVersion }) => commandVersion >= settledWorkloadsVersion)
  }

  #begin(lent: LentEvaluation, index: number): void {
    const { workers, clock } = this.#options
    if (!workers.hasRoom) {
      // They are others since the leader was asked.
      this.#own(this.#return(lent, true))
      return
    }
    const task = workers.begin()
    this.#under.set(lent.token, lent)
    this.#lastMs = clock.monotonicMs()
    const worked = this.#workOn(lent, index, task).finally(() => {
      task.end()
      this.#under.delete(lent.token)
      this.#pause.end()
    })
    this.#own(worked)
  }

  /** It is waited for when this stops. */
  #own(work: Promise<void>): void {
    const owned = work.finally(() => this.#working.delete(owned))
    this.#working.add(owned)
  }

  /** Never rejects. */
  async #workOn(lent: LentEvaluation, index: number, task: Task): Promise<void> {
    const { clock, view, log } = this.#options
    let failed = false
    try {
      await this.#reach(index)
      const { mirror, isRead } = (this.#kept ??= this.#keep())
      await isRead
      await workOn(lent.id, {
        clock,
        view,
        mirror,
        refresh: () => this.#refresh(mirror),
        submit: (plan) => this.#submit(lent, plan),
        patterns: this.#patterns,
        onState: (doing) => task.become(doing),
      })
    } catch (error) {
      // One that this server has no time for any more did not fail.
      failed = !this.#stopping.signal.aborted
      const level = codeOf(error) === 'internal' ? 'error' : 'debug'
      log[level]('a lent evaluation could not be worked on', {
        evaluation: lent.id,
        error: textOf(error),
      })
    }
    await this.#return(lent, failed)
  }

  async #submit(lent: LentEvaluation, plan: Plan): Promise<PlanOutcome> {
    const args = { token: lent.token, plan }
    const { index, outcome } = await this.#options.ask(this.#from(), submitMethod, args)
    // The next look must not miss what this plan brought.
    await this.#reach(index)
    return outcome
  }

  async #return(lent: LentEvaluation, failed: boolean): Promise<void> {
    try {
      const from = this.#from(this.#left.signal)
      await this.#options.ask(from, returnMethod, { lent: { ...lent }, failed })
    } catch (error) {
      // The leader takes it back by itself, soon.
      const text = { evaluation: lent.id, error: textOf(error) }
      this.#options.log.debug('a lent evaluation was not returned', text)
    }
  }

  async #prolong(): Promise<void> {
    if (this.#under.size === 0) return
    const lent = [...this.#under.values()].map((one) => ({ ...one }))
    await this.#options.ask(this.#from(), prolongMethod, { lent })
  }

  async #reach(index: number): Promise<void> {
    const { view, barrier } = this.#options
    const { signal } = this.#stopping
    await onView(view, ({ appliedIndex }) => caughtUpTo(index, appliedIndex, barrier, signal))
  }

  /** Changes are marked from before it is read, so none is missed. */
  #keep(): Kept {
    const { applied } = this.#options
    const mirror = new ClusterMirror()
    const forget = observe(
      (command, listener) => applied.onCommand(command, listener),
      (observed) => mirror.changed(observed),
    )
    const isRead = this.#readAll(mirror)
    isRead.catch(() => {
      if (this.#kept?.mirror === mirror) this.replaced()
    })
    return { mirror, forget, isRead }
  }

  async #readAll(mirror: ClusterMirror): Promise<void> {
    await onView(this.#options.view, (reader) => mirror.read(reader))
  }

  #refresh(mirror: ClusterMirror): void {
    onView(this.#options.view, (reader) => mirror.refresh(reader))
  }

  #forgetIdle(nowMs: number): void {
    if (this.#kept !== null && this.#under.size === 0 && nowMs - this.#lastMs > mirrorMs) {
      this.replaced()
    }
  }

  #from(signal: AbortSignal = this.#stopping.signal) {
    const caller = { token: null, remote: '', requestId: 'scheduling' }
    return { caller, signal }
  }
}
