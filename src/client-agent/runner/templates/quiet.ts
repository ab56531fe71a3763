/** Templates whose files wait until what they are made of has come to rest: so many changes in a row are one. */
import type { TemplateWait } from '../../../domains/jobs/task-model.ts'
import { timerMsMax, type Clock, type Timer } from '../../../lib/clock.ts'
import { nsPerMs } from '../../../lib/duration.ts'

type Waiting = { text: string; readonly firstMs: number; lastMs: number; timer: Timer | null }

export class Quiet<Template extends object> {
  readonly #clock: Clock
  readonly #look: () => void
  /** What each has in its file. */
  readonly #written = new Map<Template, string>()
  readonly #waiting = new Map<Template, Waiting>()

  /** `look`: called when a text may be written that had to wait. */
  constructor(clock: Clock, look: () => void) {
    this.#clock = clock
    this.#look = look
  }

  /** Whether a text may be written now: it has not changed for `Min`, or did so for the first time `Max` ago. */
  isDue(template: Template, text: string, { Min, Max }: TemplateWait): boolean {
    const nowMs = this.#clock.monotonicMs()
    const written = this.#written.get(template)
    if (written === undefined || written === text) return true
    const waiting = this.#waiting.get(template) ?? {
      text,
      firstMs: nowMs,
      lastMs: nowMs,
      timer: null,
    }
    this.#waiting.set(template, waiting)
    if (waiting.text !== text) {
      waiting.text = text
      waiting.lastMs = nowMs
    }
    const dueMs = Math.min(waiting.lastMs + Min / nsPerMs, waiting.firstMs + Max / nsPerMs)
    if (nowMs >= dueMs) return true
    waiting.timer?.cancel()
    const waitMs = Math.min(timerMsMax, dueMs - nowMs)
    waiting.timer = this.#clock.setTimer(waitMs, this.#look)
    return false
  }

  wrote(template: Template, text: string): void {
    this.#written.set(template, text)
    this.#waiting.get(template)?.timer?.cancel()
    this.#waiting.delete(template)
  }

  close(): void {
    for (const { timer } of this.#waiting.values()) timer?.cancel()
    this.#waiting.clear()
  }
}
