/** What a task has before its driver starts it: folders, environment, files. What this version has not is refused, by name. */
import { join } from 'node:path'
import { memoryUnlimitedMb } from '../../domains/allocations/model.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Mount, TaskToStart } from '../drivers/driver.ts'
import { interpolated, interpolatedConfig } from './environment.ts'
import { currentLog } from './log-files.ts'
import { environmentOfTask, type SetupOf } from './setup-of.ts'
import { placeOf, writeTaskFile } from './task-files.ts'
import type { TaskFolders } from './task-folders.ts'
import { serviceProblem } from './task-services.ts'
import { mountsOf } from './task-mounts.ts'
import { envOfTemplates } from './templates/template-env.ts'

/** Before its artifacts and templates. Throws `not_implemented` for what a task needs and this version has not. */
export async function setUpTask(of: SetupOf): Promise<void> {
  refuseWhatIsMissing(of)
  const { task, folder, driver } = of
  const folders = folder.of(task.Name)
  await folder.make(folders)
  await driver?.prepare?.(folders, task.User)
  await writePayload(of, folders)
}

/** Of one that was set up. */
export async function toStart(of: SetupOf): Promise<TaskToStart> {
  return taskOf(of, await envOfTemplates(of), mountsOf(of))
}

/** Of one that was started: whatever became of the files of its templates and of its volumes, it is found again. */
export function toFind(of: SetupOf): Promise<TaskToStart> {
  return taskOf(of, new Map(), [])
}

/** Of a command beside one that was started. */
export async function filledWords(
  of: SetupOf,
  words: readonly string[],
): Promise<readonly string[]> {
  const { variables } = environmentOfTask(of, await envOfTemplates(of))
  return words.map((word) => interpolated(word, variables))
}

async function taskOf(
  of: SetupOf,
  ofTemplates: ReadonlyMap<string, string>,
  mounts: readonly Mount[],
): Promise<TaskToStart> {
  const { assigned, task, folder } = of
  const folders = folder.of(task.Name)
  const { env, variables } = environmentOfTask(of, ofTemplates)
  const { resources } = assigned
  const own = resources.tasks.find((part) => part.task === task.Name)
  const { CPU, MemoryMB } = task.Resources
  const memoryMb = own?.memoryMb ?? MemoryMB
  return {
    allocation: assigned.id,
    task: task.Name,
    config: interpolatedConfig(task.Config, variables),
    user: task.User,
    env,
    folder: folders.task,
    shared: folders.shared,
    local: folders.local,
    secrets: folders.secrets,
    mounts,
    resources: {
      cpuMhz: own?.cpuMhz ?? CPU,
      memoryMb,
      memoryMaxMb: own?.memoryMaxMb === memoryUnlimitedMb ? null : (own?.memoryMaxMb ?? memoryMb),
    },
    ports: resources.ports,
    stdout: await currentLog(folders.logs, task.Name, 'stdout'),
    stderr: await currentLog(folders.logs, task.Name, 'stderr'),
    runFolder: folders.run,
  }
}

/** What the job was dispatched with, where the task wants it. An earlier run of the task may have left links in its folder. */
async function writePayload({ assigned, task }: SetupOf, folders: TaskFolders): Promise<void> {
  const { payload } = assigned
  if (task.DispatchPayload === null || payload === undefined) return
  const file = join(folders.local, task.DispatchPayload.File)
  if (!file.startsWith(`${folders.local}/`)) {
    const text = 'the file of dispatch_payload must be below the folder local of the task'
    throw new MusterError('invalid_argument', text)
  }
  const place = placeOf(folders, file, 'the file of dispatch_payload')
  await writeTaskFile(place, Buffer.from(payload, 'base64'), { mode: 0o644, uid: null, gid: null })
}

function refuseWhatIsMissing({ assigned: { group }, task, driver }: SetupOf): void {
  const modes = [...group.Networks, ...task.Resources.Networks].map(({ Mode }) => Mode)
  const mode = modes.find((name) => name !== 'host' && name !== '')
  const needed: readonly (readonly [boolean, string])[] = [
    [
      task.VolumeMounts.length > 0 && driver?.mountsVolumes === false,
      `mounts no volumes by the driver ${task.Driver}`,
    ],
    [mode !== undefined, `has no networks of mode ${JSON.stringify(mode)}`],
  ]
  const problems = [...task.Services, ...group.Services].flatMap(
    (service) => serviceProblem(service) ?? [],
  )
  const lacks = [...needed.filter(([isNeeded]) => isNeeded).map(([, what]) => what), ...problems]
  if (lacks.length === 0) return
  throw new MusterError('not_implemented', `this version of the agent ${lacks.join(', ')}`)
}
