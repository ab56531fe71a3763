/**
 * What a container finds of the machine's files: the folders of its allocation, volumes, and what its configuration mounts.
 *
 * The daemon follows links in a path, and a task may have left one where its next run has a folder: so what is said to lie in the
 * folder of the task does so after all links, or is refused.
 */
import { lstat, mkdir, realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { foldersInRoot, type TaskToStart } from '../driver.ts'
import { placeInRoot } from '../root-place.ts'
import type { DockerSettings } from './settings.ts'
import { allOf, firstOf, wrong, type Config, type MountConfig } from './task-config.ts'

const logsInRoot = `${foldersInRoot.shared}/logs`

/** As the API takes it. */
export type Bind =
  | {
      readonly Type: 'bind'
      readonly Source: string
      readonly Target: string
      readonly ReadOnly: boolean
    }
  | {
      readonly Type: 'tmpfs'
      readonly Target: string
      readonly ReadOnly: boolean
      readonly TmpfsOptions: { readonly SizeBytes?: number; readonly Mode?: number }
    }

/** Throws `invalid_argument` for one that cannot be made, or is not allowed here. */
export async function bindsOf(
  task: TaskToStart,
  config: Config,
  settings: DockerSettings,
): Promise<readonly Bind[]> {
  const own = await Promise.all(
    (['shared', 'local', 'secrets'] as const).map(async (name) =>
      bind(await inside(task[name], task[name]), foldersInRoot[name], false),
    ),
  )
  // The agent writes output there, wherever a link leads.
  const logs = bind(await inside(join(task.shared, 'logs'), task.shared), logsInRoot, true)
  const volumes = task.mounts.map((mount) => bind(mount.source, mount.destination, mount.readOnly))
  const more: Bind[] = []
  for (const written of config.volumes ?? []) more.push(await volumeOf(written, task, settings))
  for (const mount of [...allOf(config.mount), ...allOf(config.mounts)]) {
    more.push(await mountOf(mount, task, settings))
  }
  return [...own, logs, ...volumes, ...more]
}

/** `source:destination`, or with a third part. */
async function volumeOf(
  written: string,
  task: TaskToStart,
  settings: DockerSettings,
): Promise<Bind> {
  const [source = '', target = '', mode = 'rw', ...rest] = written.split(':')
  if (source === '' || rest.length > 0 || !['ro', 'rw'].includes(mode)) {
    throw wrong(
      `docker: a volume must be as "local/conf:/etc/web" or "local/conf:/etc/web:ro", not ${JSON.stringify(written)}`,
    )
  }
  const from = await sourceOf(source, task, settings)
  return bind(from, placeInRoot(target, 'docker: a volume'), mode === 'ro')
}

async function mountOf(
  mount: MountConfig,
  task: TaskToStart,
  settings: DockerSettings,
): Promise<Bind> {
  const { type = 'bind', target, source = '', readonly: ReadOnly = false } = mount
  const Target = placeInRoot(target, 'docker: a mount')
  if (type === 'tmpfs') {
    const { size, mode } = firstOf(mount.tmpfs_options) ?? {}
    const TmpfsOptions = {
      ...(size !== undefined && { SizeBytes: size }),
      ...(mode !== undefined && { Mode: mode }),
    }
    return { Type: 'tmpfs', Target, ReadOnly, TmpfsOptions }
  }
  if (source === '') throw wrong('docker: a mount of the type bind needs source')
  return bind(await sourceOf(source, task, settings), Target, ReadOnly)
}

/** Of the task's folder, where it is made if it is not there; of the machine where that is allowed. */
async function sourceOf(
  source: string,
  { folder }: TaskToStart,
  { allowVolumes }: DockerSettings,
): Promise<string> {
  if (source.includes('\0')) throw wrong('docker: a path has no NUL in it')
  if (source.startsWith('/')) {
    if (allowVolumes) return source
    throw wrong(
      `docker: ${source} of the machine may not be mounted here: name a path below the folder of the task, or allow volumes in the agent's configuration`,
    )
  }
  const path = join(folder, source)
  // The folder itself has those that the agent makes in it.
  if (!isWithin(path, folder) || relative(folder, path) === '') {
    throw wrong(`docker: ${source} must lie below the folder of the task`)
  }
  return inside(path, folder)
}

/** Where it truly is. What is not there becomes a folder. */
async function inside(path: string, root: string): Promise<string> {
  await makeFolders(path, root)
  const real = await realpath(path).catch(() => '')
  // What is above the folder may be links of the machine's owner.
  const above = await realpath(join(root, '..'))
  const expected = join(above, root.slice(root.lastIndexOf('/') + 1))
  if (real !== '' && isWithin(real, expected)) return real
  throw wrong(`docker: ${path} leads out of the folder of the task by a link`)
}

/** Up to the first that is no folder: a link is judged by where it leads. */
async function makeFolders(path: string, root: string): Promise<void> {
  let at = root
  for (const part of ['.', ...relative(root, path).split('/')]) {
    at = join(at, part)
    const stats = await lstat(at).catch(() => null)
    if (stats === null) await mkdir(at, { mode: 0o755 })
    else if (!stats.isDirectory()) return
  }
}

function isWithin(path: string, root: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith('../') && !way.startsWith('/'))
}

function bind(Source: string, Target: string, ReadOnly: boolean): Bind {
  return { Type: 'bind', Source, Target, ReadOnly }
}
