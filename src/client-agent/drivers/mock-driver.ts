/** A driver that runs nothing and behaves as its configuration says: for tests of all that is around a task. */
import { appendFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { Type, type Static } from 'typebox'
import { delay } from '../../lib/async.ts'
import { timerMsMax, type Clock, type Timer } from '../../lib/clock.ts'
import { parseDurationMs } from '../../lib/duration.ts'
import { MusterError } from '../../lib/errors.ts'
import { checkedConfig, ConfigFault } from './checked-config.ts'
import {
  ownHandle,
  type Driver,
  type Exit,
  type Handle,
  type StartedTask,
  type TaskToStart,
} from './driver.ts'
import { signalNumberOf } from './signals.ts'

/** A text such as `1m`, or nanoseconds. */
const Duration = Type.Union([Type.String(), Type.Number()])
const Config = Type.Object(
  {
    run_for: Type.Optional(Duration),
    exit_code: Type.Optional(Type.Integer({ minimum: 0, maximum: 255 })),
    exit_signal: Type.Optional(Type.Integer({ minimum: 0, maximum: 64 })),
    exit_err_msg: Type.Optional(Type.String()),
    start_error: Type.Optional(Type.String()),
    start_error_recoverable: Type.Optional(Type.Boolean()),
    start_block_for: Type.Optional(Duration),
    stdout_string: Type.Optional(Type.String()),
    /** How long it goes on after it is asked to end. */
    kill_after: Type.Optional(Duration),
  },
  { additionalProperties: false },
)
type Config = Static<typeof Config>

const wrong = 'the configuration of a mock_driver task has a member of the wrong type'
const rule = { driver: 'mock_driver', schema: Config, wrong } as const

export class MockDriver implements Driver {
  readonly name = 'mock_driver'
  readonly root = 'machine'
  readonly mountsVolumes = false
  readonly runsAsAgent = false
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async start(task: TaskToStart, signal: AbortSignal): Promise<StartedTask> {
    const config = checkedConfig(rule, task.config)
    const blockMs = msOf('start_block_for', config.start_block_for)
    if (blockMs > 0) await delay(this.#clock, blockMs, signal)
    if (signal.aborted) throw new MusterError('cancelled', 'the task is not wanted any more')
    const { start_error: error = '', stdout_string: output = '' } = config
    if (error !== '') {
      const canRetry = config.start_error_recoverable === true
      throw new MusterError(canRetry ? 'unavailable' : 'invalid_argument', error)
    }
    if (output !== '') await appendFile(task.stdout, output)
    return new MockTask(config, this.#clock.wallMs(), this.#clock)
  }

  recover(task: TaskToStart, handle: Handle): StartedTask {
    const { startedMs } = ownHandle(handle, 'mock')
    return new MockTask(checkedConfig(rule, task.config), startedMs, this.#clock)
  }

  find(): Promise<StartedTask | null> {
    return Promise.resolve(null)
  }

  exec(): Promise<never> {
    const text = 'mock_driver runs nothing, so no command beside a task either'
    return Promise.reject(new MusterError('not_implemented', text))
  }
}

class MockTask implements StartedTask {
  readonly handle: Handle
  readonly ended: Promise<Exit>
  /** Ends are by its monotonic time. */
  readonly #clock: Clock
  readonly #killAfterMs: number
  readonly #end: (exit: Exit) => void
  #timer: Timer | null = null

  constructor(config: Config, startedMs: number, clock: Clock) {
    this.handle = { type: 'mock', startedMs }
    this.#clock = clock
    this.#killAfterMs = msOf('kill_after', config.kill_after)
    const { promise, resolve } = Promise.withResolvers<Exit>()
    this.ended = promise
    this.#end = resolve
    const { exit_code: code = 0, exit_signal: signal = 0, exit_err_msg: message = '' } = config
    const ranMs = Math.max(0, clock.wallMs() - startedMs)
    const endMs = clock.monotonicMs() - ranMs + msOf('run_for', config.run_for)
    this.#endAt(endMs, { type: 'known', code: signal === 0 ? code : 128 + signal, signal, message })
  }

  signal(name: string): void {
    const signal = signalNumberOf(name)
    const { SIGINT, SIGTERM, SIGQUIT } = constants.signals
    if (signal !== SIGINT && signal !== SIGTERM && signal !== SIGQUIT) return
    const exit = { type: 'known', code: 0, signal: 0, message: '' } as const
    this.#endAt(this.#clock.monotonicMs() + this.#killAfterMs, exit)
  }

  kill(): void {
    const signal = constants.signals.SIGKILL
    this.#endAt(this.#clock.monotonicMs(), {
      type: 'known',
      code: 128 + signal,
      signal,
      message: '',
    })
  }

  release(): void {
    this.#timer?.cancel()
  }

  #endAt(endMs: number, exit: Exit): void {
    this.#timer?.cancel()
    const leftMs = Math.max(0, endMs - this.#clock.monotonicMs())
    this.#timer = this.#clock.setTimer(Math.min(leftMs, timerMsMax), () => {
      if (leftMs > timerMsMax) this.#endAt(endMs, exit)
      else this.#end(exit)
    })
  }
}

function msOf(name: string, duration: string | number | undefined): number {
  if (duration === undefined) return 0
  const ms = typeof duration === 'number' ? duration / 1e6 : parseDurationMs(duration)
  if (ms === undefined || ms < 0) {
    throw new ConfigFault(`${name} must be a duration such as "10s"`)
  }
  return ms
}
