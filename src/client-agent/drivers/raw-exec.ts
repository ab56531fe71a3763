/** A command as it is, without walls: with the agent's own rights, so it is off unless the configuration says otherwise. */
import { access, chmod, constants, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { Type } from 'typebox'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { checkedConfig } from './checked-config.ts'
import { asItIs, untilBegun } from './command-as-it-is.ts'
import { checkNames, namingWords, withKeptNames } from './dotted-names.ts'
import {
  ownHandle,
  type Driver,
  type Exec,
  type Handle,
  type StartedTask,
  type TaskToStart,
} from './driver.ts'
import { runCommand, type RunningCommand } from './exec-process.ts'
import {
  filesOf,
  findProcess,
  markedEnv,
  recoverProcess,
  startProcess,
} from './supervised-process.ts'

const Config = Type.Object(
  { command: Type.String({ minLength: 1 }), args: Type.Optional(Type.Array(Type.String())) },
  { additionalProperties: false },
)
const wrong = 'raw_exec needs command, a text, and takes args, a list of texts'
const rule = { driver: 'raw_exec', schema: Config, wrong } as const

export class RawExecDriver implements Driver {
  readonly name = 'raw_exec'
  readonly root = 'machine'
  readonly mountsVolumes = false
  readonly runsAsAgent = true
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async start(task: TaskToStart): Promise<StartedTask> {
    const { command, args = [] } = checkedConfig(rule, task.config)
    const { folder, stdout, stderr } = task
    const { env, naming } = withKeptNames(markedEnv(task))
    refuseOtherUser(task)
    await checkNames(task.env)
    const program = await programOf(command, task)
    const files = filesOf(task)
    const words = asItIs(files.pids, [...namingWords(naming, program), ...args])
    const process = { name: program, words, env, folder, stdout, stderr, ...files }
    return untilBegun(await startProcess(process, this.#clock), process, this.#clock)
  }

  recover(task: TaskToStart, handle: Handle): StartedTask {
    return recoverProcess(ownHandle(handle, 'process'), filesOf(task), this.#clock)
  }

  find(task: TaskToStart): Promise<StartedTask | null> {
    return findProcess(filesOf(task), this.#clock)
  }

  async exec(task: TaskToStart, { words, tty }: Exec): Promise<RunningCommand> {
    const [command = '', ...args] = words
    const { folder } = task
    const { env, naming } = withKeptNames(task.env)
    refuseOtherUser(task)
    await checkNames(task.env)
    const named = namingWords(naming, await programOf(command, task))
    const [program = '', ...more] = named
    return runCommand({ program, args: [...more, ...args], env, folder, tty }, this.#clock)
  }
}

function refuseOtherUser({ user }: TaskToStart): void {
  if (user === '' || user === userInfo().username) return
  const text = `raw_exec runs tasks as the user of the agent, not as ${JSON.stringify(user)}`
  throw new MusterError('not_implemented', text)
}

/**
 * The task's own folder goes before the paths of its environment. What is in the folders of the allocation is made executable, for
 * few artifacts and templates are. Throws `invalid_argument` where there is no such program.
 */
async function programOf(command: string, task: TaskToStart): Promise<string> {
  const { folder, shared, env } = task
  const own = command.startsWith('/')
    ? [command]
    : [join(folder, 'local', command), join(folder, command)]
  for (const path of own) {
    if (!(await isFile(path, constants.F_OK))) continue
    if (await isFile(path, constants.X_OK)) return path
    if ([folder, shared].some((of) => path.startsWith(`${of}/`))) return madeExecutable(path)
    throw new MusterError('invalid_argument', `${command} is not executable`)
  }
  for (const path of command.includes('/') ? [] : pathsOf(env['PATH'] ?? '', folder)) {
    const program = join(path, command)
    if (await isFile(program, constants.X_OK)) return program
  }
  throw new MusterError('invalid_argument', `there is no program ${command}`)
}

async function madeExecutable(path: string): Promise<string> {
  const { mode } = await stat(path)
  await chmod(path, (mode & 0o777) | 0o111)
  return path
}

function pathsOf(path: string, folder: string): readonly string[] {
  return path.split(delimiter).map((part) => resolve(folder, part))
}

async function isFile(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
