/**
 * The scheduler workers of this server: how many there are, which kinds of work they take, and what they do. The leader's work on its
 * queue; those of other servers on what the leader has no room for. A change holds until the next one or the process's end.
 */
import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { present } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { schedulerNames } from '../../lib/scheduler-names.ts'
import { coreName, type Worker, type WorkersConfig } from './model.ts'

/** Of its workers a leader rests this share: it has enough to do as a leader. */
const pausedShareOnLeader = 0.75

/**
 * Evaluations that one worker has under way: it decides on one at a time, and while the plan of one is on its way it takes
 * the next.
 */
export const underWayMax = 32

export type WorkerSettings = {
  readonly leads: () => boolean
  /** Null: as many as there are processors. */
  readonly count: number | null
  /** Null: all kinds. */
  readonly enabled: readonly string[] | null
  /** Of workers. Default: the number of processors. */
  readonly countMax?: number
}

type Doing = 'scheduling' | 'submitting'

type Made = {
  readonly id: string
  readonly started: string
  readonly underWay: Set<TaskState>
}

/** One evaluation that a worker has under way. */
export type Task = {
  become(doing: Doing): void
  end(): void
}

type TaskState = Task & { doing: Doing }

export class WorkerPool {
  readonly #clock: Clock
  readonly #leads: () => boolean
  readonly #countMax: number
  #config: WorkersConfig
  #workers: readonly Made[] = []
  readonly #listeners = new Set<() => void>()

  constructor(options: WorkerSettings & { readonly clock: Clock }) {
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
    const resting = this.#resting
    return this.#workers.map(({ id, started, underWay }, at) => {
      const rests = at < resting
      return {
        id,
        started,
        status: rests ? 'Paused' : 'Started',
        workloadStatus: rests ? 'Paused' : workloadOf(underWay),
        enabled: this.#config.enabled,
      }
    })
  }

  /** The workers are others now. Returns the way to stop listening. */
  listen(onChange: () => void): () => void {
    this.#listeners.add(onChange)
    return () => this.#listeners.delete(onChange)
  }

  get types(): ReadonlySet<string> {
    return new Set(this.#config.enabled)
  }

  /** The kinds that its workers take: none, where all of them rest or there are none. */
  get typesTaken(): ReadonlySet<string> {
    return this.#workers.length > this.#resting ? this.types : new Set()
  }

  /** Evaluations that the workers may take now. */
  get room(): number {
    const working = this.#workers.slice(this.#resting)
    return working.reduce((sum, { underWay }) => sum + underWayMax - underWay.size, 0)
  }

  /** Whether a worker may take another one. */
  get hasRoom(): boolean {
    return this.#leastBusy() !== null
  }

  /** A worker takes one, the one that has the fewest. There must be room. */
  begin(): Task {
    const worker = present(this.#leastBusy(), 'a worker with room')
    const task: TaskState = {
      doing: 'scheduling',
      become: (doing) => {
        task.doing = doing
      },
      end: () => worker.underWay.delete(task),
    }
    worker.underWay.add(task)
    return task
  }

  get #resting(): number {
    return this.#leads() ? Math.floor(this.#workers.length * pausedShareOnLeader) : 0
  }

  #leastBusy(): Made | null {
    let least: Made | null = null
    for (const worker of this.#workers.slice(this.#resting)) {
      if (worker.underWay.size >= underWayMax) continue
      if (least === null || worker.underWay.size < least.underWay.size) least = worker
    }
    return least
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
      for (const onChange of this.#listeners) onChange()
    }
    return this.#config
  }

  #build(): void {
    const started = new Date(this.#clock.wallMs()).toISOString().replace('Z', '000000Z')
    this.#workers = Array.from({ length: this.#config.count }, () => ({
      id: randomUUID(),
      started,
      underWay: new Set<TaskState>(),
    }))
  }
}

function workloadOf(underWay: ReadonlySet<TaskState>): Worker['workloadStatus'] {
  if (underWay.size === 0) return 'WaitingToDequeue'
  const decides = [...underWay].some(({ doing }) => doing === 'scheduling')
  return decides ? 'Scheduling' : 'Submitting'
}

/** Each once, in the order of the table. */
function inOrder(names: readonly string[]): readonly string[] {
  return schedulerNames.filter((name) => names.includes(name))
}
