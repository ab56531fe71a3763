/**
 * Lends evaluations to the workers of other servers: those that the leader's own have no room for, or do not take. Their plans are applied
 * as those of the own workers are, and take their places in the same mirror while they are on their way.
 */
import { firstOf, nothing } from '../../lib/async.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import type { Plan, PlanOutcome } from '../allocations/plan-model.ts'
import { onView, type OpenView } from '../host.ts'
import type { ClusterMirror } from './cluster-mirror.ts'
import type { EvaluationQueue } from './evaluation-queue.ts'
import { LentEvaluations } from './lent-evaluations.ts'
import { lendAfterMs } from './model.ts'

export type LoanRequest = {
  readonly types: readonly string[]
  readonly max: number
  readonly waitMs: number
}

export type LentEvaluation = { readonly id: string; readonly token: string }

/** `index`: of the state that they are to be decided on, or a newer one. */
export type Loan = { readonly index: number; readonly evaluations: readonly LentEvaluation[] }

export type LenderOptions = {
  readonly clock: Clock
  readonly queue: EvaluationQueue
  readonly mirror: ClusterMirror
  readonly view: OpenView
  readonly submit: (
    plan: Plan,
  ) => Promise<{ readonly index: number; readonly outcome: PlanOutcome }>
  /** Kinds that this server's workers take. */
  readonly ownTypes: () => ReadonlySet<string>
  /** Whether anything is worked on now. */
  readonly takes: () => boolean
  /** Its worker said nothing more, or that it failed. */
  readonly onFailed: (id: string) => void
  readonly onEnded: (id: string) => void
}

export class Lender {
  readonly #options: LenderOptions
  readonly #lent: LentEvaluations
  readonly #waiting = new Set<() => void>()
  #timer: Timer | null = null
  #isStopped = false

  constructor(options: LenderOptions) {
    this.#options = options
    this.#lent = new LentEvaluations(options.clock, options.onFailed)
  }

  /** Evaluations that are worked on elsewhere. */
  get lentCount(): number {
    return this.#lent.size
  }

  /** Evaluations of the queue, these among them. */
  get queuedCount(): number {
    return this.#options.queue.size
  }

  stop(): void {
    this.#isStopped = true
    this.#lent.stop()
    this.#timer?.cancel()
    this.#wake()
  }

  /** Some are ready that this server's workers did not take. */
  offer(): void {
    if (this.#waiting.size === 0) return
    if (this.#options.ownTypes().size === 0) this.#wake()
    else this.#wakeLater()
  }

  #wakeLater(): void {
    this.#timer ??= this.#options.clock.setTimer(lendAfterMs, () => {
      this.#timer = null
      this.#wake()
    })
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  /** Waits for one where there is none. */
  async lend(request: LoanRequest, signal: AbortSignal): Promise<Loan> {
    const { clock, view } = this.#options
    const untilMs = clock.monotonicMs() + request.waitMs
    let evaluations = this.#take(request)
    while (evaluations.length === 0 && !this.#isStopped) {
      const leftMs = untilMs - clock.monotonicMs()
      if (leftMs <= 0) break
      await this.#untilOffered(leftMs, signal)
      evaluations = this.#take(request)
    }
    return onView(view, ({ appliedIndex: index }) => ({ index, evaluations }))
  }

  /** Rejects with `cancelled`. */
  #untilOffered(ms: number, signal: AbortSignal): Promise<void> {
    const { clock, queue } = this.#options
    const listen = (found: () => void) => {
      this.#waiting.add(found)
      if (queue.hasReady) this.#wakeLater()
      return () => this.#waiting.delete(found)
    }
    return firstOf({ clock, ms, signal, listen, timeout: nothing })
  }

  /** Throws `conflict` where it was not lent so. The time is this server's, which proposes the plan. */
  async submit(
    token: string,
    plan: Plan,
  ): Promise<{ readonly index: number; readonly outcome: PlanOutcome }> {
    const { clock, mirror, submit } = this.#options
    this.#lent.mustHave(plan.evaluation, token)
    const timed = { ...plan, nowMs: Math.floor(clock.wallMs()) }
    return mirror.whilePlaced(plan.place, () => submit(timed))
  }

  prolong(lent: readonly LentEvaluation[]): void {
    for (const { id, token } of lent) this.#lent.prolong(id, token)
  }

  /** The worker is done with it. Nothing, where it was not lent so. */
  end({ id, token }: LentEvaluation, failed: boolean): void {
    if (!this.#lent.end(id, token)) return
    if (failed) this.#options.onFailed(id)
    else this.#options.onEnded(id)
  }

  #take({ types, max }: LoanRequest): readonly LentEvaluation[] {
    const { queue, takes, ownTypes } = this.#options
    const own = ownTypes()
    const wanted = new Set(types)
    const others = new Set(types.filter((type) => !own.has(type)))
    const taken: LentEvaluation[] = []
    while (takes() && taken.length < max) {
      const next = queue.take(others) ?? queue.take(wanted, lendAfterMs)
      if (next === null) break
      taken.push({ id: next.id, token: this.#lent.lend(next.id) })
    }
    return taken
  }
}
