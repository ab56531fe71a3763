/** What is asked of a directory, one after the other, for an operator who has a login explained. Never a password. */
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'

export type Asked = (
  | { readonly step: 'connect' }
  /** `name` empty: anonymously. */
  | { readonly step: 'bind'; readonly name: string }
  | { readonly step: 'search'; readonly base: string; readonly filter: string }
) & { readonly url: string }

export type Answered = Asked & {
  readonly ms: number
  /** Why it failed; null: it did not. */
  readonly failure: string | null
  /** How many entries a search found, else null. */
  readonly found: number | null
}

/** Told of each request once it is over. */
export type Watch = (answered: Answered) => void

/** Runs `task`; without `watch` it costs nothing. */
export function watched<T>(
  watch: Watch | null,
  clock: Clock,
  asked: () => Asked,
  task: () => Promise<T>,
): Promise<T> {
  return watch === null ? task() : told(watch, clock, asked, task)
}

async function told<T>(
  watch: Watch,
  clock: Clock,
  asked: () => Asked,
  task: () => Promise<T>,
): Promise<T> {
  const startMs = clock.monotonicMs()
  const tell = (failure: string | null, found: number | null): void => {
    const ms = Math.round((clock.monotonicMs() - startMs) * 10) / 10
    watch({ ...asked(), ms, failure, found })
  }
  try {
    const outcome = await task()
    tell(null, Array.isArray(outcome) ? outcome.length : null)
    return outcome
  } catch (error) {
    tell(textOf(error), null)
    throw error
  }
}
