/** What an allocation takes over of the one before it: where its disk is sticky, the data of that one, if it was on this machine. */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { AllocationFolder } from './task-folders.ts'

/** Others, whose end it waits for before it begins. */
export function waitsFor(assigned: Assigned): readonly string[] {
  const { preempts = [], previous } = assigned
  return inherits(assigned) ? [...preempts, previous] : preempts
}

/** Before its tasks begin. Never rejects: they begin without it then, as they do on another machine. */
export async function takeOver(
  folder: AllocationFolder,
  assigned: Assigned,
  log: Logger,
): Promise<void> {
  if (!inherits(assigned)) return
  const { id, previous, group } = assigned
  const tasks = group.Tasks.map(({ Name }) => Name)
  await folder.inherit(previous, tasks).catch((error: unknown) => {
    const about = { id, previous, error: textOf(error) }
    log.error('an allocation begins without the data of the one before it', about)
  })
}

function inherits({ previous, group }: Assigned): boolean {
  return group.EphemeralDisk.Sticky && previous !== ''
}
