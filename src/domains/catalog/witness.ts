/**
 * The second witness on an agent that gossip doubts: the leader asks the agent itself, at the gossip address that it
 * registered and under its own id. Every member that may send gossip can call it dead; only the agent's silence confirms that.
 */
import type { Clock } from '../../lib/clock.ts'

/** Questions under way at once; the others wait. */
export const questionsMax = 64
/** Unanswered for so long, by at least two questions, an agent is silent. A restart within this time goes unnoticed. */
export const silentMs = 3_000
/** Questions further apart than this say nothing of the time between them: the leader itself was held up. */
const apartMs = 10_000

export type Subject = {
  readonly key: string
  /** `ip:port` of its gossip; null: nobody knows. */
  readonly endpoint: string | null
  /** What it answers to there: its id, or its name as a member. */
  readonly who: string
}

export type Verdict = 'answers' | 'silent' | 'unknown'

/** Whether the agent answers there; null: it could not be asked. Never rejects. */
export type Answers = (endpoint: string, who: string) => Promise<boolean | null>

type Silence = { readonly sinceMs: number; readonly lastMs: number }

export class Witness {
  readonly #answers: Answers
  readonly #clock: Clock
  readonly #silent = new Map<string, Silence>()

  constructor(answers: Answers, clock: Clock) {
    this.#answers = answers
    this.#clock = clock
  }

  /** Asks each of them once. What was found of others before is forgotten. */
  async ask(subjects: readonly Subject[]): Promise<ReadonlyMap<string, Verdict>> {
    const keys = new Set(subjects.map(({ key }) => key))
    for (const key of this.#silent.keys()) if (!keys.has(key)) this.#silent.delete(key)
    const verdicts = new Map<string, Verdict>()
    const waiting = subjects.values()
    const work = async (): Promise<void> => {
      for (const subject of waiting) verdicts.set(subject.key, await this.#verdict(subject))
    }
    await Promise.all(Array.from({ length: Math.min(questionsMax, subjects.length) }, work))
    return verdicts
  }

  async #verdict({ key, endpoint, who }: Subject): Promise<Verdict> {
    const askedMs = this.#clock.monotonicMs()
    const answered = endpoint === null ? false : await this.#answers(endpoint, who)
    if (answered === null) return 'unknown'
    if (answered) {
      this.#silent.delete(key)
      return 'answers'
    }
    const before = this.#silent.get(key)
    const goesOn = before !== undefined && askedMs - before.lastMs < apartMs
    const sinceMs = goesOn ? before.sinceMs : askedMs
    const lastMs = this.#clock.monotonicMs()
    this.#silent.set(key, { sinceMs, lastMs })
    return goesOn && lastMs - sinceMs >= silentMs ? 'silent' : 'unknown'
  }
}
