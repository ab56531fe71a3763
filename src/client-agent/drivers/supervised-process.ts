/**
 * A process that outlives the agent, with its exit code. A shell stands above each task: it waits for the task, writes down how it
 * ended, and leads the process group that all of it is killed with. So an agent that was away, or killed, learns afterwards what it
 * missed; see docs/decisions/0016. The output goes to files that the task itself holds open.
 */
import { spawn } from 'node:child_process'
import {
  closeSync,
  constants as flags,
  fchownSync,
  openSync,
  readFileSync,
  statSync,
} from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { isRefusal } from '../../lib/disk-gate.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import type { Exit, Handle, StartedTask, TaskToStart } from './driver.ts'
import { execMark } from './exec-process.ts'
import { bootId, isShortage, knownState, lookedAt, processesWith } from './process-identity.ts'
import { signalNamed } from './signals.ts'

export const shell = '/bin/sh'
/** In the environment of all tasks of an allocation. */
export const allocationMark = 'MUSTER_ALLOC_ID'
/** In the environment of a task, beside its allocation and its name: what an earlier run of it left has another. */
export const runMark = 'MUSTER_RUN_ID'
const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = flags

/** Of the shell above: signals of the group are for the task, and the shell goes on to write its end down. */
const above = [
  'trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE',
  'muster_ended=$1',
  'shift',
  '"$@"',
  'muster_code=$?',
  // Over what is there, so that a full disk takes it. What it refuses all the same leaves an empty file.
  `printf '%03d\\n' "$muster_code" 1<>"$muster_ended" || : >"$muster_ended"`,
  'exit "$muster_code"',
].join('\n')

/** Processes between a task and the shell above it, at most. */
const betweenMax = 2

/** In the file of the exit code until there is one, and as long as it: so the file has its room on the disk from the start. */
const notEnded = '---\n'
/** The same of the file of the pids. */
const notBegun = '---------- ----------\n'

/** A link at its place would lead the agent's own rights elsewhere. */
const outputFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW
/** How soon the end is seen of a task that another agent process started. */
const pollMs = 500
/** Kills of a group that is being made over and over end. */
const leftoversMax = 4_096
/** Between two signals that a process is to get, or two kills of one that is still there. */
const sendAgainMs = { first: 500, max: 5_000 } as const

export type ProcessFiles = {
  /** Where the shell says how it ended, and which pids there are. */
  readonly ended: string
  readonly pids: string
  /** Of which run these two are. */
  readonly runs: string
  /** Absent: of whichever. */
  readonly run?: string | undefined
  /** In the environment of the task and all that it starts, as NAME=value: no other process has all of them. */
  readonly marks: readonly string[]
}

export function filesOf({
  runFolder,
  allocation,
  task,
  run,
}: Pick<TaskToStart, 'runFolder' | 'allocation' | 'task' | 'run'>): ProcessFiles {
  const marks = [`${allocationMark}=${allocation}`, `MUSTER_TASK_NAME=${task}`]
  return {
    ended: join(runFolder, 'ended'),
    pids: join(runFolder, 'pids'),
    runs: join(runFolder, 'run'),
    run,
    marks: run === undefined ? marks : [...marks, `${runMark}=${run}`],
  }
}

/** The environment of a task that is started, with the mark of its run. */
export function markedEnv({ env, run }: Pick<TaskToStart, 'env' | 'run'>): TaskToStart['env'] {
  return run === undefined ? env : { ...env, [runMark]: run }
}

export type ProcessToStart = ProcessFiles & {
  /** As errors have it. */
  readonly name: string
  /** What the shell above runs: a program, absolute, and its arguments. It, or what it starts, writes both pids down. */
  readonly words: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly folder: string
  readonly stdout: string
  readonly stderr: string
  /** Of these two, where it is not the agent: programs open /dev/stdout anew. */
  readonly owner?: { readonly uid: number; readonly gid: number }
}

type ProcessHandle = Extract<Handle, { type: 'process' }>

/** Throws `unavailable` where it may succeed later. */
export async function startProcess(start: ProcessToStart, clock: Clock): Promise<StartedTask> {
  await makeFiles(start).catch((error: unknown) => {
    const text = `${start.name} does not start: its files cannot be written: ${textOf(error)}`
    const isPassing = isRefusal(error) || isShortage(error)
    throw isPassing ? new MusterError('unavailable', text, { cause: error }) : error
  })
  const { promise, resolve, reject } = Promise.withResolvers<StartedTask>()
  const opened: number[] = []
  const append = (path: string): number => {
    const descriptor = openSync(path, outputFlags, 0o600)
    opened.push(descriptor)
    if (start.owner !== undefined) fchownSync(descriptor, start.owner.uid, start.owner.gid)
    return descriptor
  }
  const refuse = (error: unknown): void => {
    const code = isShortage(error) ? 'unavailable' : 'invalid_argument'
    reject(new MusterError(code, `${start.name} does not start: ${textOf(error)}`))
  }
  try {
    const boot = bootId()
    const child = spawn(shell, ['-c', above, 'muster', start.ended, ...start.words], {
      cwd: start.folder,
      env: start.env,
      // A session and a group of its own, whose signals are not those of the agent.
      detached: true,
      stdio: ['ignore', append(start.stdout), append(start.stderr)],
    })
    const { pid } = child
    child.once('error', refuse)
    if (pid !== undefined) {
      // Before any other code runs: until this process asks how its child ended, the pid is the child's.
      const startTicks = startTicksOf(pid)
      const handle: ProcessHandle = { type: 'process', pid, startTicks, bootId: boot }
      const exited = new Promise<Exit>((resolve) => {
        child.once('exit', (code, signal) => resolve(exitOf(code, signal)))
      })
      resolve(new OwnProcess(handle, start, exited, clock, () => child.unref()))
    }
  } catch (error) {
    // Not every failure of a start is told by an event.
    refuse(error)
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
  return promise
}

async function makeFiles({ ended, pids, runs, run }: ProcessFiles): Promise<void> {
  await rm(ended, { force: true })
  await rm(pids, { force: true })
  await writeFile(ended, notEnded, { mode: 0o600 })
  await writeFile(pids, notBegun, { mode: 0o600 })
  // Only now, so that what the two say next is of this run.
  if (run === undefined) await rm(runs, { force: true })
  else await writeFile(runs, run, { mode: 0o600 })
}

/** Of a child. One that could not be known again must not go on. */
function startTicksOf(pid: number): string {
  try {
    return knownState(pid)?.startTicks ?? '0'
  } catch (error) {
    send(-pid, 'SIGKILL')
    throw error
  }
}

/** Of what an earlier process of the agent started, also where it ended since. */
export function recoverProcess(
  handle: ProcessHandle,
  files: ProcessFiles,
  clock: Clock,
): StartedTask {
  return new FoundProcess(handle, files, clock)
}

/**
 * Where the agent ended between a start and the writing of its handle. Null: it was not started. What an earlier run left, as a process
 * that took leave of its group, is not the task.
 */
export function findProcess(files: ProcessFiles, clock: Clock): Promise<StartedTask | null> {
  return lookedAt(clock, async () => {
    // A command that someone runs beside the task has the task's environment.
    const marked = await processesWith(files.marks, execMark, clock)
    const written = pidsOf(files)?.above ?? 0
    // Others of the task may lead groups too.
    for (const pid of marked.toSorted((left) => (left === written ? -1 : 0))) {
      const state = knownState(pid)
      if (state?.group !== pid || state.isZombie) continue
      const { startTicks } = state
      return new FoundProcess({ type: 'process', pid, startTicks, bootId: bootId() }, files, clock)
    }
    const pids = pidsOf(files)
    if (pids === null || writtenCode(files) === null) return null
    if (files.run !== undefined && textOfFile(files.runs) !== files.run) return null
    // It ended meanwhile, so its start is in no list any more.
    const handle = { type: 'process', pid: pids.above, startTicks: '0', bootId: bootId() } as const
    return new FoundProcess(handle, files, clock)
  })
}

abstract class SupervisedProcess implements StartedTask {
  readonly handle: ProcessHandle
  abstract readonly ended: Promise<Exit>
  protected readonly files: ProcessFiles
  protected readonly clock: Clock
  /** Nothing is waited for any more. */
  protected readonly released = new AbortController()
  protected isKilled = false
  #isBeingKilled = false

  constructor(handle: ProcessHandle, files: ProcessFiles, clock: Clock) {
    this.handle = handle
    this.files = files
    this.clock = clock
  }

  abstract readonly release: () => void

  signal(name: string): void {
    const signal = signalNamed(name)
    void this.#untilDone(() => {
      if (!this.isThere()) return true
      const { pid } = this.handle
      const pids = pidsOf(this.files)
      // Before the task has written its pid down it is a shell that has not become the task.
      const isTask = pids !== null && pids.above === pid && isBelow(pids.task, pid)
      send(isTask ? pids.task : -pid, signal)
      return true
    })
  }

  /** Until it is gone. */
  kill(): void {
    if (this.#isBeingKilled) return
    this.#isBeingKilled = true
    void this.#untilDone(() => {
      if (!this.isThere()) return true
      this.isKilled = true
      send(-this.handle.pid, 'SIGKILL')
      return false
    })
  }

  /** Whether the pid is still that of the shell that was started. Throws where that cannot be known now. */
  protected isThere(): boolean {
    const { pid, startTicks } = this.handle
    const state = knownState(pid)
    return state !== null && state.startTicks === startTicks && !state.isZombie
  }

  /** The first time at once. What fails is done again. */
  async #untilDone(isDone: () => boolean): Promise<void> {
    const { signal } = this.released
    for (let waitMs: number = sendAgainMs.first; ; waitMs = Math.min(2 * waitMs, sendAgainMs.max)) {
      try {
        if (isDone()) return
      } catch {
        // What could not be seen may be there.
      }
      await delay(this.clock, waitMs, signal)
      if (signal.aborted) return
    }
  }
}

/** A child of this process. */
class OwnProcess extends SupervisedProcess {
  readonly ended: Promise<Exit>

  readonly release: () => void
  #hasEnded = false

  constructor(
    handle: ProcessHandle,
    files: ProcessFiles,
    exited: Promise<Exit>,
    clock: Clock,
    release: () => void,
  ) {
    super(handle, files, clock)
    this.release = () => {
      this.released.abort()
      release()
    }
    this.ended = exited.then((exit) => {
      this.#hasEnded = true
      // Nothing that waits to be sent has anyone to go to.
      this.released.abort()
      // The group has its id as long as a process is in it; of an empty one nobody can have taken it this soon.
      send(-handle.pid, 'SIGKILL')
      return exit
    })
  }

  /** Its pid is its own until this process has asked how it ended. */
  protected override isThere(): boolean {
    return !this.#hasEnded
  }
}

class FoundProcess extends SupervisedProcess {
  readonly ended: Promise<Exit>

  constructor(handle: ProcessHandle, files: ProcessFiles, clock: Clock) {
    super(handle, files, clock)
    this.ended = this.#watch()
  }

  readonly release = (): void => this.released.abort()

  protected override isThere(): boolean {
    return this.handle.bootId === bootId() && super.isThere()
  }

  async #watch(): Promise<Exit> {
    const { signal } = this.released
    for (;;) {
      const exit = await this.#exit().catch(() => null)
      if (exit !== null) return exit
      await delay(this.clock, pollMs, signal)
      if (signal.aborted) return new Promise(() => {})
    }
  }

  /** Null: it is there. Rejects where that, or how it ended, cannot be known now. */
  async #exit(): Promise<Exit | null> {
    if (this.isThere()) return null
    if (this.handle.bootId !== bootId()) {
      return { type: 'unknown', reason: 'the machine was started anew' }
    }
    await this.#killLeftovers()
    const code = writtenCode(this.files)
    if (code !== null) return exitOf(code, null)
    if (this.isKilled) return exitOf(null, 'SIGKILL')
    if (isUnwritten(this.files)) {
      return {
        type: 'unknown',
        reason: 'the exit code of the task could not be written to the disk',
      }
    }
    return { type: 'unknown', reason: 'the task was killed together with what watched it' }
  }

  /** Of the group, whose id may be another's by now: only what bears the marks. */
  async #killLeftovers(): Promise<void> {
    const group = this.handle.pid
    const marked = await processesWith(this.files.marks, null, this.clock)
    for (const pid of marked.slice(0, leftoversMax)) {
      if (knownState(pid)?.group === group) send(pid, 'SIGKILL')
    }
  }
}

function exitOf(code: number | null, signal: NodeJS.Signals | null): Exit {
  if (signal !== null) {
    const number = constants.signals[signal]
    return { type: 'known', code: 128 + number, signal: number, message: '' }
  }
  const known = code ?? 0
  // A shell tells of a signal so.
  const number = known > 128 && known <= 192 ? known - 128 : 0
  return { type: 'known', code: known, signal: number, message: '' }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It is gone.
  }
}

/** The shell opened the file for the code, and the disk did not take it. */
function isUnwritten({ ended }: ProcessFiles): boolean {
  return statSync(ended, { throwIfNoEntry: false })?.size === 0
}

/** Of three digits, or of fewer where an earlier version started the task. */
function writtenCode({ ended }: ProcessFiles): number | null {
  const match = /^(\d{1,3})\n$/.exec(textOfFile(ended))
  return match === null ? null : Number(match[1])
}

/** Null: no task has begun. */
export function pidsOf({
  pids,
}: Pick<ProcessFiles, 'pids'>): { readonly above: number; readonly task: number } | null {
  const match = /^(\d{1,10}) (\d{1,10})\n$/.exec(textOfFile(pids))
  return match === null ? null : { above: Number(match[1]), task: Number(match[2]) }
}

function isBelow(pid: number, above: number): boolean {
  let at = knownState(pid)?.parent
  for (let between = 0; between < betweenMax && at !== above; between += 1) {
    at = at === undefined ? undefined : knownState(at)?.parent
  }
  return at === above
}

/** '': there is none. Throws where that cannot be known now. */
function textOfFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isShortage(error)) throw error
    return ''
  }
}
