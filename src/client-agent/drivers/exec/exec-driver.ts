/**
 * A command within walls: namespaces, a root, a user and limits of its own. The walls are built by programs that every Linux has, in
 * the scripts of `scripts.ts`; above them stands the same shell as above a task of `raw_exec`, by which it is found again.
 *
 * The first process of a PID namespace takes all others there with it when it ends. So nothing of a task outlives it, whatever
 * it did to its groups and sessions.
 */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { within } from '../../../lib/async.ts'
import type { Clock } from '../../../lib/clock.ts'
import { MusterError } from '../../../lib/errors.ts'
import { makeFolder } from '../../../lib/make-folder.ts'
import {
  ownHandle,
  type Driver,
  type DriverCondition,
  type Exec,
  type Exit,
  type FoldersOfTask,
  type Handle,
  type StartedTask,
  type TaskToStart,
} from '../driver.ts'
import { checkNames } from '../dotted-names.ts'
import { runCommand, terminalDefault, type RunningCommand } from '../exec-process.ts'
import {
  filesOf,
  findProcess,
  markedEnv,
  recoverProcess,
  startProcess,
} from '../supervised-process.ts'
import { configOf } from './config.ts'
import {
  ControlGroup,
  controlGroupsFolder,
  openControlGroups,
  type ControlGroups,
} from './control-group.ts'
import { healthOf } from './probe.ts'
import { missingCode, readyLine } from './scripts.ts'
import { ofShells, sealed } from './sealed-environment.ts'
import { giveFolders, userOf } from './task-user.ts'
import { firstProcessOf, WalledTask } from './walled-task.ts'
import { wordsBeside, wordsOf, type Walls } from './walls.ts'

/** Walls that take longer to build are given up. */
const wallsMsMax = 30_000
const pollMs = 10
const logLengthMax = 1_000

const notEnabled: DriverCondition = {
  detected: false,
  healthy: false,
  description: 'exec is not enabled',
  attributes: [],
}

export type ExecOptions = {
  /** Else it only goes on with what it started before, and tries no walls. Default: true. */
  readonly enabled?: boolean
  /** Of the control groups of all tasks, below `root`. */
  readonly parent: string
  /** Where the machine has its control groups. */
  readonly root?: string
  readonly clock: Clock
}

export class ExecDriver implements Driver {
  readonly name = 'exec'
  readonly root = 'own'
  readonly mountsVolumes = true
  readonly runsAsAgent = false
  readonly health: DriverCondition
  readonly #groups: ControlGroups
  readonly #clock: Clock

  private constructor(health: DriverCondition, groups: ControlGroups, clock: Clock) {
    this.health = health
    this.#groups = groups
    this.#clock = clock
  }

  /** Looks at the machine. Never rejects. */
  static async open({
    enabled = true,
    parent,
    root = controlGroupsFolder,
    clock,
  }: ExecOptions): Promise<ExecDriver> {
    const groups = await openControlGroups(root, parent)
    const health = enabled ? await healthOf(groups) : notEnabled
    return new ExecDriver(health, groups, clock)
  }

  async prepare(folders: FoldersOfTask, user: string): Promise<void> {
    await giveFolders(folders, await userOf(user))
  }

  async start(task: TaskToStart, signal: AbortSignal): Promise<StartedTask> {
    const { healthy, description } = this.health
    if (!healthy) throw new MusterError('unavailable', description)
    const { command, args } = configOf(task.config)
    const { runFolder, stdout, stderr } = task
    const files = filesOf(task)
    const { env, walls } = await this.#wallsOf(task, markedEnv(task))
    const wallFiles = { root: join(runFolder, 'root'), log: logOf(task), pids: files.pids }
    const words = wordsOf(task, walls, wallFiles, [command, ...args])
    await makeFolder(wallFiles.root, 0o700)
    await rm(wallFiles.log, { force: true })
    await this.#groupOf(task)?.make(task.resources)
    const process = { name: command, words, env, folder: '/', stdout, stderr, ...files }
    const owner = walls.user
    const started = this.#walled(task, await startProcess({ ...process, owner }, this.#clock))
    await this.#untilReady(task, started, signal)
    started.lookWithin()
    return started
  }

  recover(task: TaskToStart, handle: Handle): StartedTask {
    const own = ownHandle(handle, 'process')
    return this.#walled(task, recoverProcess(own, filesOf(task), this.#clock))
  }

  async find(task: TaskToStart): Promise<StartedTask | null> {
    const found = await findProcess(filesOf(task), this.#clock)
    return found === null ? null : this.#walled(task, found)
  }

  async exec(task: TaskToStart, { words: command, tty }: Exec): Promise<RunningCommand> {
    const first = firstProcessOf(task)
    if (first === null) throw new MusterError('conflict', 'Task not running')
    const terminal = tty ? { TERM: terminalDefault } : {}
    const { env, walls } = await this.#wallsOf(task, { ...terminal, ...task.env })
    const [program = '', ...args] = wordsBeside(first, walls, command)
    return runCommand({ program, args, env, folder: '/', tty }, this.#clock)
  }

  async #wallsOf(task: TaskToStart, own: TaskToStart['env']) {
    const user = await userOf(task.user)
    const identity = { USER: user.name, LOGNAME: user.name, HOME: '/local', SHELL: '/bin/sh' }
    await checkNames(own, ofShells)
    const { env, names, naming } = sealed({ ...identity, ...own })
    const group = this.#groupOf(task)?.folder ?? null
    const walls: Walls = { user, names, naming, config: configOf(task.config), group }
    return { env, walls }
  }

  #groupOf(task: TaskToStart): ControlGroup | null {
    return this.#groups.type === 'there' ? new ControlGroup(this.#groups.folder, task) : null
  }

  #walled(task: TaskToStart, started: StartedTask): WalledTask {
    return new WalledTask(task, started, this.#groupOf(task), this.#clock)
  }

  /** Rejects where the task did not come to begin: for good where its program is missing. */
  async #untilReady(task: TaskToStart, started: StartedTask, signal: AbortSignal): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + wallsMsMax
    let exit: Exit | null = null
    while (exit === null && !(await isReady(task))) {
      const isLate = this.#clock.monotonicMs() > untilMs
      if (isLate || signal.aborted) started.kill()
      exit = await within(started.ended, this.#clock, pollMs)
    }
    // The last word may have come with the end.
    if (exit === null || (await isReady(task))) return
    if (signal.aborted) throw new MusterError('cancelled', 'the task is not wanted any more')
    const why = (await logged(task)).trim().replaceAll('\n', '; ')
    if (exit.type === 'known' && exit.code === missingCode) {
      throw new MusterError('invalid_argument', why)
    }
    const reason = why === '' ? `${logOf(task)} says nothing: does the disk take writes?` : why
    throw new MusterError('unavailable', `the walls of the task cannot be built: ${reason}`)
  }
}

function logOf({ runFolder }: TaskToStart): string {
  return join(runFolder, 'walls')
}

async function logged(task: TaskToStart): Promise<string> {
  return (await readFile(logOf(task), 'utf8').catch(() => '')).slice(-logLengthMax)
}

async function isReady(task: TaskToStart): Promise<boolean> {
  return (await logged(task)).split('\n').includes(readyLine)
}
