/**
 * How a process ends. SIGTERM and SIGINT ask for a graceful stop, bounded in time; a second one ends it at once.
 * A defect (an exception nobody caught) or a failed disk ends it at once too: what is on disk is whole at every moment,
 * so a start from there is safer than going on in a state nobody knows.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'

/** A leader hands over and open requests finish well within this. */
export const STOP_MS_MAX = 10_000

export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const
type StopSignal = keyof typeof signalNumbers
const stopSignals: readonly StopSignal[] = ['SIGINT', 'SIGTERM']

/** The few things of `process` that are needed here. */
export type ProcessEvents = {
  on(event: string, listener: (value: unknown) => void): unknown
  off(event: string, listener: (value: unknown) => void): unknown
}

export type LifeOptions = {
  readonly events: ProcessEvents
  readonly clock: Clock
  readonly logger: Logger
  /** Writes gathered log lines, then ends the process. */
  readonly exit: (code: number) => void
}

export type Life = {
  /** Fires on the first signal. */
  readonly stopping: AbortSignal
  /** What a graceful stop does; called at most once, also when the signal came before. Then the process exits. */
  onStop(stop: () => Promise<void>): void
  /** Logs one line and exits with 1. */
  die(what: string, error: unknown): void
  /** Stops listening to the process. */
  dispose(): void
}

export function watchLife(options: LifeOptions): Life {
  const { events, clock, logger, exit } = options
  const stopping = new AbortController()
  let stop: (() => Promise<void>) | null = null
  let limit: Timer | null = null

  const finish = (run: () => Promise<void>): void => {
    run().then(
      () => {
        logger.info('stopped')
        end(exitCodes.ok)
      },
      (error: unknown) => die('the graceful stop failed', error),
    )
  }

  const end = (code: number): void => {
    limit?.cancel()
    exit(code)
  }

  const die = (what: string, error: unknown): void => {
    logger.error(what, { error: described(error) })
    end(exitCodes.failed)
  }

  const onSignal = (signal: StopSignal) => (): void => {
    if (stopping.signal.aborted) {
      logger.warn('a second signal: ending at once', { signal })
      end(128 + signalNumbers[signal])
      return
    }
    logger.info('stopping', { signal })
    stopping.abort()
    limit = clock.setTimer(STOP_MS_MAX, () => {
      logger.error('the graceful stop took too long', { limitMs: STOP_MS_MAX })
      end(exitCodes.failed)
    })
    if (stop !== null) finish(stop)
  }

  const listeners: readonly (readonly [string, (value: unknown) => void])[] = [
    ...stopSignals.map((signal) => [signal, onSignal(signal)] as const),
    ['uncaughtException', (error) => die('a defect ended the process', error)],
    ['unhandledRejection', (error) => die('a defect ended the process', error)],
  ]
  for (const [event, listener] of listeners) events.on(event, listener)

  return {
    stopping: stopping.signal,
    onStop(run) {
      stop = run
      if (stopping.signal.aborted) finish(run)
    },
    die,
    dispose() {
      limit?.cancel()
      for (const [event, listener] of listeners) events.off(event, listener)
    },
  }
}

/** With the stack: a defect is looked for by its place. */
function described(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
