/** Waiting for something to become true, with a deadline: the only kind of waiting that tests do. */
import { setTimeout as delay } from 'node:timers/promises'

export type Patience = {
  readonly timeoutMs?: number
  /** From one probe to the next. Unless said, a tenth of what was waited so far: 10 ms at first, 100 ms in the end. */
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
  { timeoutMs = 60_000, everyMs }: Patience = {},
): Promise<T> {
  const startMs = performance.now()
  let cause: unknown
  for (;;) {
    try {
      const found = await probe()
      if (found !== undefined) return found
    } catch (error) {
      cause = error
    }
    const waitedMs = performance.now() - startMs
    if (waitedMs > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`, { cause })
    // To ask three servers fifty times a second is half the work of a test that waits.
    await delay(everyMs ?? Math.min(100, Math.max(10, waitedMs / 10)))
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
