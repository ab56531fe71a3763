/** The words by which a task is run within its walls, and a command beside it. */
import { join } from 'node:path'
import { MusterError } from '../../../lib/errors.ts'
import { foldersInRoot, type Mount, type TaskToStart } from '../driver.ts'
import { shell } from '../supervised-process.ts'
import type { ExecConfig } from './config.ts'
import { enter, init, launch, launchBeside, walls } from './scripts.ts'
import type { TaskUser } from './task-user.ts'

/** Of util-linux. */
export const unshare = '/usr/bin/unshare'
export const nsenter = '/usr/bin/nsenter'
const setpriv = '/usr/bin/setpriv'
export const toolsNeeded = [shell, unshare, nsenter, setpriv, '/usr/bin/getent'] as const

/** Where nothing is mounted: what the walls have there already, and what tasks write to. */
const ofWalls = '/tmp /var /proc /dev /etc /usr /bin /sbin /lib /lib32 /lib64 /libx32 /.machine'
const taken = [...Object.values(foldersInRoot), ...ofWalls.split(' ')]

/** Of one task. */
export type Walls = {
  readonly user: TaskUser
  /** Of its environment. */
  readonly names: readonly string[]
  /** Of those with a dot, as `enter` takes it. */
  readonly naming: string
  readonly config: Pick<ExecConfig, 'capabilities' | 'sharesIpc'>
  /** Its control group; null: there is none. */
  readonly group: string | null
}

/** The folders that the task is to have. `root` is empty, `log` is added to. */
export type WallFiles = { readonly root: string; readonly log: string; readonly pids: string }

/** Throws `invalid_argument` for a volume that cannot be mounted where it is wanted. */
export function wordsOf(
  task: TaskToStart,
  of: Walls,
  files: WallFiles,
  command: readonly string[],
): readonly string[] {
  checkMounts(task.mounts)
  const own = [task.shared, task.local, task.secrets, join(task.folder, 'tmp')]
  const volumes = task.mounts.flatMap(({ source, destination, readOnly }) => [
    source,
    destination,
    readOnly ? 'ro' : 'rw',
  ])
  return [
    ...script(launch, 'launch', files.log, of.group ?? ''),
    ...unshareWords(of.config.sharesIpc),
    ...script(init, 'init'),
    ...script(walls, 'walls', files.root, files.pids, ...own, ...volumes, '--'),
    ...enterWords(of, command),
  ]
}

/** `first`: the first process of the task's namespaces. The task itself may have moved on to others of its own making. */
export function wordsBeside(
  first: number,
  of: Walls,
  command: readonly string[],
): readonly string[] {
  const namespaces = ['--mount', '--pid', ...(of.config.sharesIpc ? [] : ['--ipc'])]
  const entering = [nsenter, '--target', String(first), ...namespaces, '--']
  const launching = script(launchBeside, 'beside', of.group ?? '')
  return [...launching, ...entering, ...enterWords(of, command)]
}

/** A process that dies takes the first one of the namespaces with it, and that all others. */
export function unshareWords(sharesIpc: boolean): readonly string[] {
  const ipc = sharesIpc ? [] : ['--ipc']
  return [unshare, '--fork', '--kill-child', '--pid', '--mount', ...ipc, '--']
}

function enterWords(of: Walls, command: readonly string[]): readonly string[] {
  return [...setprivWords(of), ...script(enter, 'enter', ...of.names, '--', of.naming, ...command)]
}

/** From here on there is no way to more rights: no program has its owner's, and no capability comes back. */
function setprivWords({ user, config: { capabilities } }: Walls): readonly string[] {
  const caps = ['-all', ...capabilities.map((name) => `+${name}`)].join(',')
  const ids = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  const sets = ['inh-caps', 'ambient-caps', 'bounding-set'].map((name) => `--${name}=${caps}`)
  return [setpriv, ...ids, '--no-new-privs', ...sets]
}

function script(text: string, name: string, ...words: readonly string[]): readonly string[] {
  return [shell, '-c', text, name, ...words]
}

/** Below a folder that someone writes to, root would follow a link that they made. */
function checkMounts(mounts: readonly Mount[]): void {
  const places = mounts.map(({ destination }) => destination.replaceAll(/\/+/g, '/'))
  for (const [at, place] of places.entries()) {
    const others = [...taken, ...places.filter((_, other) => other !== at)]
    const other = others.find((one) => `${place}/`.startsWith(`${one.replace(/\/$/, '')}/`))
    if (other === undefined) continue
    const text = `exec mounts no volume at ${place}, which is within ${other}: name a path such as /data`
    throw new MusterError('invalid_argument', text)
  }
}
