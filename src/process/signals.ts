/**
 * How a process ends. SIGTERM and SIGINT ask for a graceful stop, bounded in time; a second one ends it at once. Where a
 * wait is configured, a stop begins with it: others are told to go elsewhere while everything is still served, and
 * the second signal skips what is left of it.
 * A defect (an uncaught exception) or a failed disk ends it at once too: what is on disk is whole at every moment,
 * so a start from there is safer than going on in an unknown state. SIGHUP reads again what may change while running.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { stackTraceOf } from '../lib/stack-trace.ts'

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

export type GracefulWait = {
  /** From the signal to the stop. */
  readonly ms: number
  /** Called as the wait begins. */
  readonly begin: () => void
}

/** Resolves with a warning for who asked for it, null: there is none. */
export type Reload = () => Promise<string | null>

export type Life = {
  /** Fires on the first signal. */
  readonly stopping: AbortSignal
  /**
   * What a graceful stop does; called at most once, also when the signal came before, and then without a wait: no client was
   * served yet. Then the process exits; at the latest `moreMs` after what any process has for its stop.
   */
  onStop(stop: () => Promise<void>, wait?: GracefulWait, moreMs?: number): void
  /** What SIGHUP does, one at a time; a rejection is logged. Before, SIGHUP is logged and nothing else. */
  onReload(reload: Reload): void
  /**
   * What SIGHUP does, asked for by other means; in turn with it. Rejects with what went wrong, and with `unavailable` before
   * `onReload` and once the process stops.
   */
  readonly reload: Reload
  /** Logs one line and exits with 1. */
  die(what: string, error: unknown): void
  /** Stops listening to the process. */
  dispose(): void
}

export function watchLife(options: LifeOptions): Life {
  const { events, clock, logger, exit } = options
  const stopping = new AbortController()
  let stop: (() => Promise<void>) | null = null
  let wait: GracefulWait | null = null
  let waiting: Timer | null = null
  let limit: Timer | null = null
  let limitMs: number = STOP_MS_MAX
  let reload: Reload | null = null
  let reloading: Promise<void> = Promise.resolve()

  const finish = (run: () => Promise<void>): void => {
    waiting = null
    bound()
    run().then(
      () => {
        logger.info('stopped')
        end(exitCodes.ok)
      },
      (error: unknown) => die('the graceful stop failed', error),
    )
  }

  /** Also of a start that a signal found under way. */
  const bound = (): void => {
    limit ??= clock.setTimer(limitMs, () => {
      logger.error('the graceful stop took too long', { limitMs })
      end(exitCodes.failed)
    })
  }

  const end = (code: number): void => {
    waiting?.cancel()
    limit?.cancel()
    exit(code)
  }

  const die = (what: string, error: unknown): void => {
    logger.error(what, { error: described(error) })
    end(exitCodes.failed)
  }

  const onSignal = (signal: StopSignal) => (): void => {
    if (waiting !== null && stop !== null) {
      waiting.cancel()
      logger.warn('a second signal: the rest of the wait is skipped', { signal })
      finish(stop)
      return
    }
    if (stopping.signal.aborted) {
      logger.warn('a further signal: ending at once', { signal })
      end(128 + signalNumbers[signal])
      return
    }
    logger.info('stopping', { signal })
    stopping.abort()
    if (stop === null) {
      bound()
      return
    }
    const run = stop
    if (wait === null) {
      finish(run)
      return
    }
    logger.info('serving on for a while, so that others notice', { waitMs: wait.ms })
    wait.begin()
    waiting = clock.setTimer(wait.ms, () => finish(run))
  }

  const onReload = (): void => {
    const run = reload
    if (run === null || stopping.signal.aborted) {
      logger.info('nothing to read again', { signal: 'SIGHUP' })
      return
    }
    logger.info('reading again', { signal: 'SIGHUP' })
    readAgain(run).catch(() => {})
  }

  /** One at a time. */
  const readAgain = (run: Reload): Promise<string | null> => {
    const read = reloading.then(run)
    reloading = read.then(
      () => logger.info('read again'),
      (error: unknown) => {
        logger.error('what was read stays as it was', { reason: textOf(error) })
      },
    )
    return read
  }

  const listeners: readonly (readonly [string, (value: unknown) => void])[] = [
    ...stopSignals.map((signal) => [signal, onSignal(signal)] as const),
    ['SIGHUP', onReload],
    ['uncaughtException', (error) => die('a defect ended the process', error)],
    ['unhandledRejection', (error) => die('a defect ended the process', error)],
  ]
  for (const [event, listener] of listeners) events.on(event, listener)

  return {
    stopping: stopping.signal,
    onStop(run, graceful, moreMs = 0) {
      stop = run
      limitMs += moreMs
      if (stopping.signal.aborted) finish(run)
      else if (graceful !== undefined && graceful.ms > 0) wait = graceful
    },
    onReload(run) {
      reload = run
    },
    async reload() {
      if (reload === null || stopping.signal.aborted) {
        throw new MusterError(
          'unavailable',
          'this agent starts or stops: there is nothing to reload',
        )
      }
      logger.info('reading again', { by: 'the API' })
      return readAgain(reload)
    },
    die,
    dispose() {
      waiting?.cancel()
      limit?.cancel()
      for (const [event, listener] of listeners) events.off(event, listener)
    },
  }
}

/** With the stack: a defect is looked for by its place. */
function described(error: unknown): string {
  return stackTraceOf(error) ?? (error instanceof Error ? error.message : String(error))
}
