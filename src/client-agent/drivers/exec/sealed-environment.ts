/**
 * The environment of a task, sealed: each of its variables under a name that means nothing to anyone. The programs that build its
 * walls are root, and would otherwise load its LD_PRELOAD, or run what its PATH names. `enter` breaks the seal as the task's user.
 *
 * It stays an environment because arguments of programs are everyone's to read.
 */
import { withKeptNames } from '../dotted-names.ts'
import { runMark } from '../supervised-process.ts'
import { sealPrefix } from './scripts.ts'

/** What those programs need. */
const path = '/usr/sbin:/usr/bin:/sbin:/bin'
/** A shell keeps these for itself, whichever it is: it ends where one is set, or passes on another value. */
export const ofShells: ReadonlySet<string> = new Set([
  'BASHOPTS',
  'BASHPID',
  'BASH_VERSINFO',
  'DIRSTACK',
  'EUID',
  'FUNCNAME',
  'GROUPS',
  'HISTCMD',
  'LINENO',
  'OPTIND',
  'PPID',
  'RANDOM',
  'SHELLOPTS',
  'SHLVL',
  'UID',
])
/** What the agent finds tasks by is as it is. */
const marks: ReadonlySet<string> = new Set(['MUSTER_ALLOC_ID', 'MUSTER_TASK_NAME', runMark])

export type SealedEnvironment = {
  readonly env: Readonly<Record<string, string>>
  /** Of the variables that are sealed, for `enter`. */
  readonly names: readonly string[]
  /** Of those whose own names no shell passes on. */
  readonly naming: string
}

/** What is no name for a shell is left out, as the shell above other tasks does. */
export function sealed(of: Readonly<Record<string, string>>): SealedEnvironment {
  const { env, naming } = withKeptNames(of, ofShells)
  const names = Object.keys(env).filter(
    (name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !marks.has(name),
  )
  const open = Object.entries(env).filter(([name]) => marks.has(name))
  const hidden = names.map((name) => [`${sealPrefix}${name}`, env[name] ?? ''] as const)
  return { env: { PATH: path, ...Object.fromEntries([...open, ...hidden]) }, names, naming }
}
