/** A task with all that it is set up from. */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import type { Task } from '../../domains/jobs/task-model.ts'
import type { Driver } from '../drivers/driver.ts'
import {
  environmentOf,
  interpolated,
  type NodeFacts,
  type TaskEnvironment,
  type Variables,
} from './environment.ts'
import { placeOf, type TaskPlace } from './task-files.ts'
import type { AllocationFolder } from './task-folders.ts'

export type SetupOf = {
  readonly assigned: Assigned
  readonly task: Task
  readonly facts: NodeFacts
  readonly folder: AllocationFolder
  /** Null: the agent has none of that name. */
  readonly driver: Pick<Driver, 'root' | 'mountsVolumes' | 'prepare'> | null
}

/** As the task has it. `more`: what templates add to it. */
export function environmentOfTask(
  { assigned, task, facts, folder, driver }: SetupOf,
  more: ReadonlyMap<string, string> = new Map(),
): TaskEnvironment {
  const root = driver?.root ?? 'machine'
  return environmentOf({ assigned, task, facts, folders: folder.of(task.Name), root, more })
}

/** For what the agent itself does: the folders are those of the machine. */
export function variablesOnMachine(setup: SetupOf): Variables {
  return environmentOfTask({ ...setup, driver: null }).variables
}

/** Of a path as its job has it. `what` begins an error, as of `placeOf`. */
export function placeOfTask(setup: SetupOf, path: string, what: string): TaskPlace {
  const folders = setup.folder.of(setup.task.Name)
  return placeOf(folders, interpolated(path, variablesOnMachine(setup)), what)
}
