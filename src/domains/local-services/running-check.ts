/** One check as it runs on this agent: the timer of a TTL, or looks at an interval, and the thresholds over them. */
import { timerMsMax, type Clock, type Timer } from '../../lib/clock.ts'
import type { CheckStatus } from '../catalog/model.ts'
import type { ProbeResult } from './probes/probe-result.ts'
import type { ActiveProbe, CheckDefinition } from './definition.ts'

export type CheckState = { readonly status: CheckStatus; readonly output: string }

export type RunningCheckOptions = {
  readonly definition: CheckDefinition
  readonly state: CheckState
  /** Until the first look. */
  readonly firstLookMs: number
  readonly clock: Clock
  /** When a look may begin: an agent bounds how many run at one time. */
  readonly admit: (run: () => Promise<ProbeResult | null>) => Promise<ProbeResult | null>
  /** Null: nothing is to be seen, and the check stays as it is. */
  readonly look: (probe: ActiveProbe, signal: AbortSignal) => Promise<ProbeResult | null>
  /** After each look that found something. */
  readonly onLooked: (status: CheckStatus) => void
  /** Status or output differ from what they were. */
  readonly onState: (state: CheckState, before: CheckState) => void
  /** It was critical for as long as its definition allows. */
  readonly onOverdue: () => void
}

export class RunningCheck {
  readonly definition: CheckDefinition
  readonly #options: RunningCheckOptions
  readonly #abort = new AbortController()
  #state: CheckState
  #timer: Timer | null = null
  #overdue: Timer | null = null
  #looking: Promise<void> = Promise.resolve()
  #successes = 0
  #failures = 0

  constructor(options: RunningCheckOptions) {
    this.#options = options
    this.definition = options.definition
    this.#state = options.state
    this.#watchCritical()
    const { probe } = options.definition
    // Also after a restart: its owner could not speak meanwhile.
    if (probe.type === 'ttl') this.#expireAfter(probe.ttlMs)
    else if (probe.type !== 'maintenance') this.#lookAfter(probe, options.firstLookMs)
  }

  get state(): CheckState {
    return this.#state
  }

  /** Of a TTL check: its owner says how it is, and has the whole TTL again. */
  refresh(status: CheckStatus, output: string): void {
    const { probe } = this.definition
    if (probe.type !== 'ttl' || this.#abort.signal.aborted) return
    this.#timer?.cancel()
    this.#expireAfter(probe.ttlMs)
    this.#become({ status, output })
  }

  /** Resolves once a look that is under way has ended. */
  async stop(): Promise<void> {
    this.#abort.abort()
    this.#timer?.cancel()
    this.#overdue?.cancel()
    await this.#looking
  }

  #expireAfter(delayMs: number): void {
    // Timers may fire a fraction early; a TTL does not.
    this.#timer = this.#after(Math.ceil(delayMs) + 1, () => {
      const { status, output } = this.#state
      if (status === 'critical') return
      const last = output === '' ? '' : `, last output: ${output}`
      this.#become({ status: 'critical', output: `TTL expired${last}` })
    })
  }

  #lookAfter(probe: ActiveProbe, delayMs: number): void {
    this.#timer = this.#after(delayMs, () => {
      this.#looking = this.#look(probe)
    })
  }

  async #look(probe: ActiveProbe): Promise<void> {
    const { clock, admit } = this.#options
    const beganMs = clock.monotonicMs()
    const found = await admit(() => this.#lookInTime(probe))
    if (this.#abort.signal.aborted) return
    if (found !== null) this.#judge(found)
    // Looks keep their rhythm, and never overlap.
    const tookMs = clock.monotonicMs() - beganMs
    this.#lookAfter(probe, Math.max(0, probe.intervalMs - tookMs))
  }

  async #lookInTime(probe: ActiveProbe): Promise<ProbeResult | null> {
    const { clock, look } = this.#options
    const timeout = new AbortController()
    const timer = clock.setTimer(probe.timeoutMs, () => timeout.abort())
    try {
      return await look(probe, AbortSignal.any([timeout.signal, this.#abort.signal]))
    } finally {
      timer.cancel()
    }
  }

  /** A warning is a success: what is looked at works. */
  #judge(found: ProbeResult): void {
    const { successBeforePassing, failuresBeforeWarning, failuresBeforeCritical } = this.definition
    const { status } = this.#state
    let next: CheckStatus = status
    if (found.status === 'critical') {
      this.#failures += 1
      this.#successes = 0
      if (this.#failures >= failuresBeforeCritical) next = 'critical'
      else if (this.#failures >= failuresBeforeWarning) next = 'warning'
    } else {
      this.#successes += 1
      this.#failures = 0
      if (this.#successes >= successBeforePassing) next = found.status
    }
    this.#become({ status: next, output: found.output })
    this.#options.onLooked(next)
  }

  #become(state: CheckState): void {
    const before = this.#state
    this.#state = state
    if (before.status !== state.status) this.#watchCritical()
    if (before.status !== state.status || before.output !== state.output) {
      this.#options.onState(state, before)
    }
  }

  #watchCritical(): void {
    this.#overdue?.cancel()
    this.#overdue = null
    const { deregisterAfterMs } = this.definition
    if (deregisterAfterMs === null || this.#state.status !== 'critical') return
    this.#overdue = this.#after(deregisterAfterMs, () => this.#options.onOverdue())
  }

  /** Longer than a timer holds: it is set anew. */
  #after(delayMs: number, run: () => void): Timer {
    const { clock } = this.#options
    let timer: Timer
    const set = (leftMs: number): void => {
      const stepMs = Math.min(leftMs, timerMsMax)
      timer = clock.setTimer(stepMs, () => {
        if (leftMs > stepMs) set(leftMs - stepMs)
        else run()
      })
    }
    set(delayMs)
    return { cancel: () => timer.cancel() }
  }
}
