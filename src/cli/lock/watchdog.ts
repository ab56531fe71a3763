/**
 * A process of its own that ends a command in time, whatever becomes of the one that holds the lock: paused, killed, or too busy. It
 * is told on its standard input which process group to end and when; when that input ends without a word, its owner has died.
 *
 * Times are those of the machine's monotonic clock, which all its processes share.
 */
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { machineClock, type Clock, type Timer } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Terminal } from '../verb.ts'

/** What it is told, a line of JSON each. */
export type Order =
  | {
      readonly type: 'guard'
      readonly group: number
      readonly graceMs: number
      readonly termAtMs: number
      readonly killAtMs: number
    }
  | { readonly type: 'until'; readonly termAtMs: number; readonly killAtMs: number }
  /** The group has ended. */
  | { readonly type: 'done' }

/** What it tells, a word a line: it listens; SIGTERM was sent; SIGKILL was sent. */
export type Word = 'ready' | 'term' | 'kill'

export type WatchdogOptions = {
  readonly clock: Clock
  /** Whether there was a process to get the signal. */
  readonly signal: (group: number, signal: 'SIGTERM' | 'SIGKILL') => boolean
  readonly tell: (word: Word) => void
}

/** What a stop of everything around it sends, and must not end the one who is there for what comes then. */
const ignored: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGTSTP']

export async function runWatchdog(terminal: Terminal): Promise<void> {
  const release = terminal.onSignals(ignored, () => {})
  const watchdog = new Watchdog({
    clock: machineClock,
    signal: signalGroup,
    tell: (word) => terminal.out(`${word}\n`),
  })
  terminal.out('ready\n' satisfies `${Word}\n`)
  const lines = createInterface({ input: Readable.from(terminal.input()), crlfDelay: Infinity })
  for await (const line of lines) watchdog.hear(parseOrder(line))
  await watchdog.ownerIsGone()
  release()
}

/** False when no process of the group is left. */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
    throw error
  }
}

export class Watchdog {
  readonly #options: WatchdogOptions
  #group: number | null = null
  #graceMs = 0
  #termAtMs = Infinity
  #killAtMs = Infinity
  #stage: 'waiting' | 'termed' | 'ended' = 'waiting'
  #timer: Timer | null = null
  readonly #ended: Promise<void>
  #end: () => void = () => {}

  constructor(options: WatchdogOptions) {
    this.#options = options
    this.#ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  hear(order: Order): void {
    if (this.#stage === 'ended') return
    switch (order.type) {
      case 'guard':
        this.#group = order.group
        this.#graceMs = order.graceMs
        this.#until(order.termAtMs, order.killAtMs)
        return
      case 'until':
        this.#until(order.termAtMs, order.killAtMs)
        return
      case 'done':
        this.#finish()
    }
  }

  /** Ends the group with what grace is left to it. Resolves once there is nothing more to do. */
  async ownerIsGone(): Promise<void> {
    if (this.#group === null) this.#finish()
    const nowMs = this.#options.clock.monotonicMs()
    if (this.#stage !== 'ended') {
      this.#until(nowMs, Math.min(this.#killAtMs, nowMs + this.#graceMs))
    }
    await this.#ended
  }

  /** Once SIGTERM was sent the end can only come nearer: the command that got it is on its way out. */
  #until(termAtMs: number, killAtMs: number): void {
    const isFinal = this.#stage === 'termed'
    this.#killAtMs = isFinal ? Math.min(this.#killAtMs, killAtMs) : killAtMs
    this.#termAtMs = termAtMs
    this.#arm()
  }

  #arm(): void {
    this.#timer?.cancel()
    this.#timer = null
    if (this.#stage === 'ended') return
    const { clock } = this.#options
    const nextMs =
      this.#stage === 'waiting' ? Math.min(this.#termAtMs, this.#killAtMs) : this.#killAtMs
    const leftMs = nextMs - clock.monotonicMs()
    if (leftMs <= 0) this.#act()
    else this.#timer = clock.setTimer(leftMs, () => this.#arm())
  }

  #act(): void {
    const { clock, signal, tell } = this.#options
    if (this.#group === null) return
    if (this.#killAtMs <= clock.monotonicMs()) {
      signal(this.#group, 'SIGKILL')
      tell('kill')
      this.#finish()
      return
    }
    this.#stage = 'termed'
    const isThere = signal(this.#group, 'SIGTERM')
    tell('term')
    if (isThere) this.#arm()
    else this.#finish()
  }

  #finish(): void {
    this.#stage = 'ended'
    this.#timer?.cancel()
    this.#end()
  }
}

function parseOrder(line: string): Order {
  const value: unknown = JSON.parse(line)
  if (typeof value !== 'object' || value === null || !('type' in value)) throw strange()
  const number = (name: string): number => {
    const found: unknown = Object.entries(value).find(([key]) => key === name)?.[1]
    return typeof found === 'number' && Number.isFinite(found) ? found : strange()
  }
  const until = () => ({ termAtMs: number('termAtMs'), killAtMs: number('killAtMs') })
  switch (value.type) {
    case 'guard': {
      const group = number('group')
      if (!Number.isSafeInteger(group) || group <= 1) strange()
      return { type: 'guard', group, graceMs: number('graceMs'), ...until() }
    }
    case 'until':
      return { type: 'until', ...until() }
    case 'done':
      return { type: 'done' }
    default:
      return strange()
  }
}

function strange(): never {
  throw new MusterError('invalid_argument', 'this process is started by muster lock alone')
}
