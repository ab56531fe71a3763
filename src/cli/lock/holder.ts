/** One command under one lock: wait for it, run the command, end the command when the lock is lost, let the lock go. */
import type { Clock, Timer } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Terminal } from '../verb.ts'
import type { Exclusion, Held, Loss } from './exclusion.ts'
import type { Guard } from './guard.ts'
import type { Lease } from './lease.ts'
import { LeaseKeeper, type SessionOptions } from './lease-keeper.ts'
import { mayPass } from '../api/servers.ts'
import { ProcessGroup, type Command, type Ended } from './process-group.ts'

/** Letting go of a lock; after that its session's end does. */
const releaseMsMax = 10_000
/** Between a stop asked for by signal and SIGKILL. */
const stopGraceMs = 5_000
const stopSignals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM']
const passedSignals: readonly NodeJS.Signals[] = [
  ...stopSignals,
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
  'SIGCONT',
]

export type HolderOptions = {
  readonly terminal: Terminal
  readonly clock: Clock
  readonly lease: Lease
  readonly session: Omit<SessionOptions, 'clock' | 'lease'>
  readonly exclusion: (keeper: LeaseKeeper) => Exclusion
  readonly guard: Guard
  readonly command: Omit<Command, 'env'>
  /** How long to wait for the lock; null: for ever. */
  readonly waitMsMax: number | null
  readonly say: (text: string) => void
}

export type Outcome =
  | { readonly type: 'ended'; readonly ended: Ended; readonly release: Release }
  | { readonly type: 'lost'; readonly reason: string }
  /** The command was not run. */
  | { readonly type: 'notHeld'; readonly reason: 'stopped' | 'timeout' }

/** Null: done; else why not, and then the session's end does it. */
export type Release = string | null

/** Resolves with the command dead and the lock let go, as far as servers could be told. */
export async function runHolding(options: HolderOptions): Promise<Outcome> {
  const { terminal, guard, clock } = options
  const stop = new AbortController()
  let group: ProcessGroup | null = null
  const killing: { timer: Timer | null } = { timer: null }
  const unheard = terminal.onSignals(passedSignals, (signal) => {
    const isStop = stopSignals.includes(signal)
    if (isStop && stop.signal.aborted) group?.signal('SIGKILL')
    else group?.signal(signal)
    if (!isStop) return
    stop.abort()
    if (group !== null)
      killing.timer ??= clock.setTimer(stopGraceMs, () => group?.signal('SIGKILL'))
  })
  try {
    const won = await acquire(options, stop.signal)
    if (won.type === 'notHeld') return won
    const { keeper, exclusion, held } = won
    // In between a signal has no command to go to yet: the lock is released unused.
    if (stop.signal.aborted) {
      await letGo(keeper, exclusion, held)
      return { type: 'notHeld', reason: 'stopped' }
    }
    group = await start(options, keeper, held).catch(async (error: unknown) => {
      await letGo(keeper, exclusion, held)
      throw error
    })
    return await watch(options, keeper, exclusion, held, group)
  } finally {
    unheard()
    killing.timer?.cancel()
    await guard.stop()
  }
}

type Won = {
  readonly type: 'held'
  readonly keeper: LeaseKeeper
  readonly exclusion: Exclusion
  readonly held: Held
}

async function acquire(
  options: HolderOptions,
  stopping: AbortSignal,
): Promise<Won | Extract<Outcome, { type: 'notHeld' }>> {
  const { clock, lease, session, waitMsMax, say } = options
  const timeout = waitMsMax === null ? null : AbortSignal.timeout(waitMsMax)
  const giveUp = timeout === null ? stopping : AbortSignal.any([stopping, timeout])
  for (;;) {
    let keeper: LeaseKeeper | null = null
    try {
      keeper = await LeaseKeeper.start({ ...session, clock, lease }, giveUp)
      say(`session ${keeper.session}, waiting for the lock`)
      const exclusion = options.exclusion(keeper)
      const waiting = AbortSignal.any([giveUp, keeper.over])
      const held = await exclusion.acquire(keeper.session, waiting)
      if (clock.monotonicMs() < keeper.until.termAtMs && !keeper.over.aborted) {
        return { type: 'held', keeper, exclusion, held }
      }
      say('the lock came too late for its session')
      await letGo(keeper, exclusion, held)
    } catch (error) {
      const alive = keeper === null || (await keeper.isAlive(AbortSignal.timeout(releaseMsMax)))
      await keeper?.stop(AbortSignal.timeout(releaseMsMax)).catch(() => {})
      if (giveUp.aborted) {
        return { type: 'notHeld', reason: stopping.aborted ? 'stopped' : 'timeout' }
      }
      if (alive !== false) throw error
      say(`the session ended while it waited: ${textOf(error)}`)
    }
  }
}

async function start(
  options: HolderOptions,
  keeper: LeaseKeeper,
  held: Held,
): Promise<ProcessGroup> {
  const { command, guard, lease, say, terminal } = options
  say(`holding ${held.key}, LockIndex ${held.lockIndex}`)
  const group = await ProcessGroup.start(
    { ...command, env: lockEnvironment(keeper, held) },
    terminal,
  )
  guard.guard(group.id, lease.graceMs, keeper.until)
  // Without it no process would end the command in time.
  void guard.gone.then(() => group.signal('SIGKILL'))
  keeper.onRenewed(() => guard.until(keeper.until))
  return group
}

function lockEnvironment(keeper: LeaseKeeper, held: Held): Readonly<Record<string, string>> {
  return {
    MUSTER_LOCK_HELD: 'true',
    MUSTER_LOCK_KEY: held.key,
    MUSTER_LOCK_INDEX: held.lockIndex,
    MUSTER_LOCK_SESSION: keeper.session,
    // Scripts written for `consul lock` read it.
    CONSUL_LOCK_HELD: 'true',
  }
}

async function watch(
  options: HolderOptions,
  keeper: LeaseKeeper,
  exclusion: Exclusion,
  held: Held,
  group: ProcessGroup,
): Promise<Outcome> {
  const { guard, lease, clock } = options
  const over = new AbortController()
  const loss = firstLoss(guard, keeper, exclusion, held, over.signal)
  try {
    const first = await Promise.race([group.ended, loss])
    if (!('reason' in first)) {
      await group.endRest(lease.graceMs)
      await guard.stop()
      // A holder that was asleep may hear of the command's end before it hears who ended it.
      const lost = guard.hasFired ? await loss : null
      if (lost !== null) sayLost(options, lost)
      const release = await letGo(keeper, exclusion, held)
      return lost === null
        ? { type: 'ended', ended: first, release }
        : { type: 'lost', reason: lost.reason }
    }
    sayLost(options, first)
    const nowMs = clock.monotonicMs()
    const killAtMs = first.isHeldBack
      ? Math.min(keeper.until.killAtMs, nowMs + lease.graceMs)
      : nowMs
    keeper.onRenewed(() => {})
    guard.until({ termAtMs: nowMs, killAtMs })
    await group.endRest(0)
    await guard.stop()
    await letGo(keeper, exclusion, held)
    return { type: 'lost', reason: first.reason }
  } finally {
    over.abort()
  }
}

function sayLost({ terminal }: HolderOptions, { reason }: Loss): void {
  terminal.err(`muster lock: the lock is lost: ${reason}; the command is ended\n`)
}

/** The first of all that says that the lock is not ours any more. Never rejects; pending once the signal fires. */
function firstLoss(
  guard: Guard,
  keeper: LeaseKeeper,
  exclusion: Exclusion,
  held: Held,
  signal: AbortSignal,
): Promise<Loss> {
  return new Promise((resolve) => {
    void guard.fired.then(() => {
      const why = keeper.lastFailure ?? 'this process was paused or too busy'
      resolve({ reason: `no renewal was acknowledged in time: ${why}`, isHeldBack: true })
    })
    void guard.gone.then(() => {
      resolve({ reason: 'the watchdog beside it has ended', isHeldBack: false })
    })
    exclusion.lost(keeper.session, held, signal).then(resolve, (error: unknown) => {
      if (signal.aborted) return
      // That no server answers ends no session; that one refuses may come of the end of ours.
      const isHeldBack = mayPass(error) || exclusion.isHeldBack
      resolve({ reason: `nobody says whether it is held: ${textOf(error)}`, isHeldBack })
    })
    const ended = () => {
      resolve({ reason: 'its session was ended', isHeldBack: exclusion.isHeldBack })
    }
    keeper.over.addEventListener('abort', ended, { signal })
  })
}

async function letGo(keeper: LeaseKeeper, exclusion: Exclusion, held: Held): Promise<Release> {
  const signal = AbortSignal.timeout(releaseMsMax)
  try {
    if (!keeper.over.aborted) await exclusion.release(keeper.session, held, signal)
    await keeper.stop(signal)
    return null
  } catch (error) {
    return textOf(error)
  } finally {
    // In any case no renewal goes on.
    await keeper.stop(AbortSignal.abort()).catch(() => {})
  }
}
