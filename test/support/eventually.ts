/** Waiting for something to become true, with a deadline: the only kind of waiting that tests do. */
import { setTimeout as delay } from 'node:timers/promises'

export type Patience = {
  readonly timeoutMs?: number
  readonly everyMs?: number
}

/** For waiting until gossip calls a dead one dead: a busy machine raises health scores, and these stretch probes. */
export const detection: Patience = { timeoutMs: 90_000 }

/**
 * Asks again until `probe` gives something other than undefined, and returns it. A probe that throws is asked
 * again as well; the last thing it threw is the cause of the final error, which says what was waited for.
 */
export async function eventually<T>(
  what: string,
  probe: () => T | undefined | Promise<T | undefined>,
  { timeoutMs = 30_000, everyMs = 20 }: Patience = {},
): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs
  let cause: unknown
  for (;;) {
    try {
      const found = await probe()
      if (found !== undefined) return found
    } catch (error) {
      cause = error
    }
    if (performance.now() > deadlineMs) {
      throw new Error(`waited ${timeoutMs} ms in vain: ${what}`, { cause })
    }
    await delay(everyMs)
  }
}

/** As `eventually`, for a condition. */
export async function eventuallyTrue(
  what: string,
  condition: () => boolean | Promise<boolean>,
  patience: Patience = {},
): Promise<void> {
  await eventually(what, async () => ((await condition()) ? true : undefined), patience)
}
