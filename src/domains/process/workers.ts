/**
 * The scheduler workers of this server: how many there are and which kinds of work they take. They wait; evaluations
 * to take arrive with scheduling. A change holds until the next one or the process's end.
 */
import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'

/** The kinds of work. Workers take the core kind always: it is the servers' own housekeeping. */
export const schedulerNames = ['service', 'batch', 'system', 'sysbatch', '_core'] as const
const coreName = '_core'

export type Worker = {
  readonly id: string
  /** RFC 3339 with nanoseconds. */
  readonly started: string
  readonly status: 'Started' | 'Paused'
  readonly workloadStatus: 'WaitingToDequeue' | 'Paused'
  readonly enabled: readonly string[]
}

export type WorkersConfig = { readonly count: number; readonly enabled: readonly string[] }

/** Of its workers a leader rests this share: it has enough to do as a leader. */
const pausedShareOnLeader = 0.75

export class WorkerPool {
  readonly #clock: Clock
  readonly #leads: () => boolean
  readonly #countMax: number
  #config: WorkersConfig
  #workers: readonly { readonly id: string; readonly started: string }[] = []

  constructor(options: {
    readonly clock: Clock
    readonly leads: () => boolean
    /** Null: as many as there are processors. */
    readonly count: number | null
    /** Null: all kinds. */
    readonly enabled: readonly string[] | null
    /** Of workers. Default: the number of processors. */
    readonly countMax?: number
  }) {
    this.#clock = options.clock
    this.#leads = options.leads
    this.#countMax = options.countMax ?? availableParallelism()
    this.#config = {
      count: Math.min(options.count ?? this.#countMax, this.#countMax),
      enabled: inOrder([...(options.enabled ?? schedulerNames), coreName]),
    }
    this.#build()
  }

  get config(): WorkersConfig {
    return this.#config
  }

  workers(): readonly Worker[] {
    const paused = this.#leads() ? Math.floor(this.#workers.length * pausedShareOnLeader) : 0
    return this.#workers.map(({ id, started }, at) => {
      const rests = at < paused
      return {
        id,
        started,
        status: rests ? 'Paused' : 'Started',
        workloadStatus: rests ? 'Paused' : 'WaitingToDequeue',
        enabled: this.#config.enabled,
      }
    })
  }

  /** New workers, unless nothing changes. Throws `invalid_argument`, and then nothing has changed. */
  configure({ count, enabled }: WorkersConfig): WorkersConfig {
    if (!Number.isInteger(count) || count < 0 || count > this.#countMax) {
      const text = `num_schedulers must be from 0 to the number of processors, ${this.#countMax}, not ${count}`
      throw new MusterError('invalid_argument', text)
    }
    const names: readonly string[] = schedulerNames
    const unknown = enabled.find((name) => !names.includes(name))
    if (unknown !== undefined) {
      const shown = JSON.stringify(unknown.slice(0, 100))
      const text = `enabled_schedulers: there is no scheduler ${shown}; there are ${names.join(', ')}`
      throw new MusterError('invalid_argument', text)
    }
    if (!enabled.includes(coreName)) {
      const text = `enabled_schedulers must hold ${coreName}, which the servers themselves need`
      throw new MusterError('invalid_argument', text)
    }
    const wanted = { count, enabled: inOrder(enabled) }
    const same =
      count === this.#config.count && wanted.enabled.join() === this.#config.enabled.join()
    if (!same) {
      this.#config = wanted
      this.#build()
    }
    return this.#config
  }

  #build(): void {
    const started = new Date(this.#clock.wallMs()).toISOString().replace('Z', '000000Z')
    this.#workers = Array.from({ length: this.#config.count }, () => ({
      id: randomUUID(),
      started,
    }))
  }
}

/** Each once, in the order of the table. */
function inOrder(names: readonly string[]): readonly string[] {
  return schedulerNames.filter((name) => names.includes(name))
}
