/**
 * The tasks of one allocation that drivers start and run: what becomes of them is told to the allocation's machine, which says what
 * is done with them.
 *
 * Before a driver starts a task, the disk knows that it does: so a task whose agent was killed then is looked for, not started twice.
 * While the disk does not take it, none is started.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Task } from '../../domains/jobs/task-model.ts'
import { isRefusal } from '../../lib/disk-gate.ts'
import { codeOf, MusterError, textOf } from '../../lib/errors.ts'
import { ConfigFault } from '../drivers/checked-config.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { Driver, Exec, Handle, StartedTask, TaskToStart } from '../drivers/driver.ts'
import type { RunningCommand } from '../drivers/exec-process.ts'
import type { Drivers } from '../drivers/drivers.ts'
import {
  downloading,
  failedByScript,
  templateRestart,
  templateSignal,
  toldByDriver,
  type EventSeed,
} from './task-events.ts'
import { signalNamed } from '../drivers/signals.ts'
import type { ArtifactSettings } from './artifacts/limits.ts'
import { ArtifactFailure, getArtifacts } from './artifacts/task-artifacts.ts'
import type { SetupOf } from './setup-of.ts'
import type { Unsaved } from './state-saves.ts'
import { filledWords, setUpTask, toFind, toStart } from './task-setup.ts'
import { ChangeScripts } from './templates/change-scripts.ts'
import { TaskTemplates, type TemplateChange } from './templates/task-templates.ts'
import type { TemplateData } from './templates/template-data.ts'
import type { TaskInput, TaskMachine } from './task.ts'

const interrupt = 'SIGINT'

export type TaskProcessesOptions = {
  /** Of the allocation. */
  readonly id: string
  readonly drivers: Drivers
  readonly data: TemplateData
  readonly artifacts: ArtifactSettings
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Null: the group has no such task. */
  readonly setupOf: (name: string) => SetupOf | null
  readonly save: () => Promise<Unsaved | null>
  readonly take: (name: string, input: TaskInput) => void
}

/** Of a task before this process of the agent. `run` absent: an earlier version started it. */
export type TaskBefore = { readonly handle: Handle | null; readonly run: string | undefined }

export class TaskProcesses {
  readonly #options: TaskProcessesOptions
  readonly #started = new Map<string, StartedTask>()
  readonly #starting = new Map<string, AbortController>()
  /** Those that run beside a task that runs. */
  readonly #commands = new Map<StartedTask, Set<RunningCommand>>()
  readonly #templates = new Map<string, TaskTemplates>()
  #isReleased = false
  /** Of tasks that run. */
  readonly #scripts = new Map<StartedTask, ChangeScripts>()
  /** Of tasks that were being started when their templates changed. */
  readonly #changes = new Map<string, TemplateChange>()
  /** The newest run of each, by a name that nothing else has. */
  readonly #runs = new Map<string, string>()
  /** Handles of before this process, until their tasks are found. */
  #before: ReadonlyMap<string, Handle>

  /** Nothing is known of an earlier process of the agent. */
  readonly #isNew: boolean
  /** Of such an allocation, the tasks whose remains were looked for. */
  readonly #looked = new Set<string>()

  /** `before`: null for an allocation that is new to this agent, or whose state is lost. */
  constructor(options: TaskProcessesOptions, before: ReadonlyMap<string, TaskBefore> | null) {
    this.#options = options
    this.#isNew = before === null
    const handles = new Map<string, Handle>()
    for (const [name, { handle, run }] of before ?? []) {
      if (handle !== null) handles.set(name, handle)
      if (run !== undefined) this.#runs.set(name, run)
    }
    this.#before = handles
  }

  handleOf(name: string): Handle | null {
    return this.#started.get(name)?.handle ?? this.#before.get(name) ?? null
  }

  runOf(name: string): string | undefined {
    return this.#runs.get(name)
  }

  /** Null: it does not run. */
  running(name: string): StartedTask | null {
    return this.#started.get(name) ?? null
  }

  /**
   * Finds what an earlier process of the agent had under way. Resolves once that is known: what has to be started first may wait for
   * servers, which hear of this agent only afterwards.
   */
  async recover(tasks: readonly (readonly [name: string, machine: TaskMachine])[]): Promise<void> {
    const unstarted = new Map<string, AbortController>()
    for (const [name, { phase }] of tasks) {
      try {
        if (await this.#isFound(name, phase)) continue
        // From now on it may be told that it is not wanted any more. The earlier process may have been told.
        const aborting = new AbortController()
        if (phase.type === 'starting' && phase.stop !== null) aborting.abort()
        this.#starting.set(name, aborting)
        unstarted.set(name, aborting)
      } catch (error) {
        this.#refused(name, error)
      }
    }
    this.#before = new Map()
    for (const [name, aborting] of unstarted) void this.start(name, aborting)
  }

  /** Never rejects. */
  async start(name: string, aborting = new AbortController()): Promise<void> {
    this.#starting.set(name, aborting)
    this.#changes.delete(name)
    const { id, log, save, take } = this.#options
    const isFirst = this.#isNew && !this.#looked.has(name)
    try {
      if (isFirst && (await this.#isLeft(name))) return
      // Whatever the disk knows of this start, it knows together with this name.
      this.#runs.set(name, randomUUID())
      const unsaved = await save()
      if (unsaved !== null) throw notKept(unsaved)
      if (aborting.signal.aborted) {
        throw new MusterError('cancelled', 'the task is not wanted any more')
      }
      const started = await this.#startBy(name, aborting.signal)
      this.#watch(name, started)
      take(name, { type: 'started' })
      const change = this.#changes.get(name)
      if (change !== undefined) this.#changed(name, change)
    } catch (error) {
      log.info('a task did not start', { allocation: id, task: name, error: textOf(error) })
      this.#refused(name, error)
    } finally {
      // A start that was given up may have led to the next one already.
      if (this.#starting.get(name) === aborting) this.#starting.delete(name)
    }
  }

  /** It runs no more, unless all tasks are to run once more. */
  forget(name: string): void {
    this.#templates.get(name)?.close()
    this.#templates.delete(name)
  }

  abortStart(name: string): void {
    this.#starting.get(name)?.abort()
  }

  /** Asks it to end. */
  interrupt(name: string): void {
    const task = this.#options.setupOf(name)?.task ?? null
    const started = this.#started.get(name)
    if (task === null || started === undefined) return
    try {
      started.signal(task.KillSignal === '' ? (started.killSignal ?? interrupt) : task.KillSignal)
    } catch (error) {
      const { id, log } = this.#options
      log.warn('a task cannot be asked to end, and is killed', {
        allocation: id,
        task: name,
        error: textOf(error),
      })
      started.kill()
    }
  }

  kill(name: string): void {
    this.#started.get(name)?.kill()
  }

  /** Runs a command beside a task that runs, which ends with it. Throws `not_found`, `conflict`, and as the driver. */
  async exec(name: string, command: Exec): Promise<RunningCommand> {
    const started = this.#started.get(name)
    const setup = this.#options.setupOf(name)
    const driver = setup === null ? null : this.#options.drivers.known(setup.task.Driver)
    if (setup === null || driver === null || started === undefined) {
      throw new MusterError('conflict', 'Task not running')
    }
    const running = await driver.exec(await toStart(setup), command)
    const commands = this.#commands.get(started)
    if (commands === undefined) {
      running.kill()
      throw new MusterError('conflict', 'Task not running')
    }
    commands.add(running)
    void running.ended.then(() => commands.delete(running))
    return running
  }

  /** The same for a check of the task or a template, whose words have variables of its environment. */
  async script(name: string, words: readonly string[]): Promise<RunningCommand> {
    const setup = this.#options.setupOf(name)
    const filled = setup === null ? words : await filledWords(setup, words)
    return this.exec(name, { words: filled, tty: false })
  }

  /** They run on; commands beside them do not. */
  release(): void {
    this.#isReleased = true
    for (const templates of this.#templates.values()) templates.close()
    for (const task of this.#started.values()) task.release()
    for (const commands of this.#commands.values()) for (const one of commands) one.kill()
  }

  /** Also where nothing is to be found. False: it was to start, and has not. */
  async #isFound(name: string, phase: TaskMachine['phase']): Promise<boolean> {
    const { drivers, setupOf, take } = this.#options
    const setup = setupOf(name)
    if (setup === null) return true
    const handle = this.#before.get(name)
    const driver = drivers.known(setup.task.Driver)
    if (phase.type === 'running' || phase.type === 'delaying' || phase.type === 'ending') {
      if (handle === undefined || driver === null) {
        const reason = 'the agent has lost sight of the task'
        take(name, { type: 'exited', exit: { type: 'unknown', reason } })
        return true
      }
      this.#watch(name, driver.recover(await this.#toFind(setup), handle))
      this.#templatesOf(setup, true)
      return true
    }
    if (phase.type !== 'starting') return true
    return this.#isFoundBy(driver, setup)
  }

  /** Of an allocation whose state is lost: what was started before is not started twice. Never where there is no trace of a start. */
  async #isLeft(name: string): Promise<boolean> {
    const setup = this.#options.setupOf(name)
    const isTraced = setup !== null && hasRunFolder(setup)
    const driver = setup === null ? null : this.#options.drivers.known(setup.task.Driver)
    this.#looked.add(name)
    try {
      return isTraced && (await this.#isFoundBy(driver, setup))
    } catch (error) {
      // A driver that is away is asked again at the next start.
      this.#looked.delete(name)
      throw error
    }
  }

  async #isFoundBy(driver: Driver | null, setup: SetupOf): Promise<boolean> {
    const name = setup.task.Name
    const found = (await driver?.find(await this.#toFind(setup))) ?? null
    if (found === null) return false
    this.#watch(name, found)
    this.#options.take(name, { type: 'started' })
    this.#templatesOf(setup, true)
    return true
  }

  async #toFind(setup: SetupOf): Promise<TaskToStart> {
    return { ...(await toFind(setup)), ...this.#ofRun(setup.task.Name) }
  }

  #ofRun(name: string): Pick<TaskToStart, 'run'> {
    const run = this.#runs.get(name)
    return run === undefined ? {} : { run }
  }

  async #startBy(name: string, signal: AbortSignal): Promise<StartedTask> {
    const setup = this.#options.setupOf(name)
    if (setup === null) throw new SetupFailure(`the group has no task ${name}`)
    await this.#setUp(setup, signal).catch((error: unknown) => {
      if (error instanceof ArtifactFailure) throw error
      throw new SetupFailure(textOf(error))
    })
    const tell = (text: string): void =>
      this.#options.take(name, { type: 'told', event: toldByDriver(text) })
    return this.#driverOf(setup.task).start(
      { ...(await toStart(setup)), ...this.#ofRun(name) },
      signal,
      tell,
    )
  }

  async #setUp(setup: SetupOf, signal: AbortSignal): Promise<void> {
    await setUpTask(setup)
    const name = setup.task.Name
    await getArtifacts(setup, {
      settings: this.#options.artifacts,
      tell: () => this.#options.take(name, { type: 'told', event: downloading }),
      signal,
      clock: this.#options.clock,
    })
    await this.#templatesOf(setup, false)?.ready(signal)
  }

  /** `runs`: see `TaskTemplates`. Null: it has none. */
  #templatesOf(setup: SetupOf, runs: boolean): TaskTemplates | null {
    const name = setup.task.Name
    if (setup.task.Templates.length === 0) return null
    const known = this.#templates.get(name)
    if (known !== undefined) return known
    const { take, data, clock, random, log } = this.#options
    const templates = new TaskTemplates(
      {
        setup,
        data,
        clock,
        random,
        log,
        tell: (event) => take(name, { type: 'told', event }),
        onChange: (change) => this.#changed(name, change),
      },
      runs,
    )
    this.#templates.set(name, templates)
    return templates
  }

  /** What its templates made is another. A task that is started again has it anyway. */
  #changed(name: string, change: TemplateChange): void {
    const { id, log, take } = this.#options
    const started = this.#started.get(name)
    if (started === undefined) {
      if (this.#starting.has(name)) this.#changes.set(name, change)
      return
    }
    if (change.restarts) {
      take(name, { type: 'restart', because: templateRestart })
      return
    }
    for (const signal of change.signals) {
      try {
        const named = signalNamed(signal)
        started.signal(named)
        take(name, { type: 'told', event: templateSignal(named) })
      } catch (error) {
        log.warn('a task cannot be told of its templates', {
          allocation: id,
          task: name,
          error: textOf(error),
        })
      }
    }
    if (change.scripts.length > 0) this.#scriptsOf(name, started).run(change.scripts)
  }

  #scriptsOf(name: string, started: StartedTask): ChangeScripts {
    const known = this.#scripts.get(started)
    if (known !== undefined) return known
    const { clock, take } = this.#options
    const scripts = new ChangeScripts({
      clock,
      start: (words) => this.script(name, words),
      isWanted: () => !this.#isReleased && this.#started.get(name) === started,
      tell: (event) => take(name, { type: 'told', event }),
      onFailed: () =>
        take(name, { type: 'stop', stop: { because: failedByScript, isFailure: true } }),
    })
    this.#scripts.set(started, scripts)
    return scripts
  }

  #driverOf({ Driver: name }: Task): Driver {
    const driver = this.#options.drivers.enabled(name)
    if (driver !== null) return driver
    throw new SetupFailure(`this agent has no driver ${JSON.stringify(name)}, or it is not enabled`)
  }

  #watch(name: string, task: StartedTask): void {
    this.#started.set(name, task)
    this.#commands.set(task, new Set())
    void task.ended.then((exit) => {
      for (const running of this.#commands.get(task) ?? []) running.kill()
      this.#commands.delete(task)
      this.#scripts.delete(task)
      if (this.#started.get(name) === task) this.#started.delete(name)
      this.#options.take(name, { type: 'exited', exit })
    })
  }

  #refused(name: string, error: unknown): void {
    const type =
      error instanceof ArtifactFailure
        ? 'Failed Artifact Download'
        : error instanceof SetupFailure
          ? 'Setup Failure'
          : error instanceof ConfigFault
            ? 'Failed Validation'
            : 'Driver Failure'
    const event: EventSeed = { type, text: textOf(error) }
    const canRetry =
      error instanceof ArtifactFailure ? error.canRetry : codeOf(error) === 'unavailable'
    this.#options.take(name, { type: 'refused', event, canRetry })
  }
}

/** Started all the same, it would be started again, beside this run, by the agent's next process. */
function notKept({ error }: Unsaved): MusterError {
  const text = isRefusal(error)
    ? `the task does not start: the disk of the agent takes no writes (${textOf(error)}): make room there`
    : `the task does not start: the agent cannot keep that it does: ${textOf(error)}`
  return new MusterError('unavailable', text, { cause: error })
}

/** False also for a name that no folder can have: the start says so. */
function hasRunFolder({ folder, task }: SetupOf): boolean {
  try {
    return existsSync(folder.of(task.Name).run)
  } catch {
    return false
  }
}

/** Before the driver had a word. */
class SetupFailure extends Error {}
