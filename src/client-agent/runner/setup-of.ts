/** A task with all that it is set up from. */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import type { Task } from '../../domains/jobs/task-model.ts'
import { environmentOf, interpolated, type NodeFacts, type TaskEnvironment } from './environment.ts'
import { placeOf, type TaskPlace } from './task-files.ts'
import type { AllocationFolder } from './task-folders.ts'

export type SetupOf = {
  readonly assigned: Assigned
  readonly task: Task
  readonly facts: NodeFacts
  readonly folder: AllocationFolder
}

/** `more`: what templates add to it. */
export function environmentOfTask(
  { assigned, task, facts, folder }: SetupOf,
  more: ReadonlyMap<string, string> = new Map(),
): TaskEnvironment {
  return environmentOf({ assigned, task, facts, folders: folder.of(task.Name), more })
}

/** Of a path as its job has it. `what` begins an error, as of `placeOf`. */
export function placeOfTask(setup: SetupOf, path: string, what: string): TaskPlace {
  const { variables } = environmentOfTask(setup)
  return placeOf(setup.folder.of(setup.task.Name), interpolated(path, variables), what)
}
