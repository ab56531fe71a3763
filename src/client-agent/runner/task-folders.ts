/** The folders of an allocation: one that its tasks share, and for each task its own, of which `secrets` is for its owner alone. */
import { execFile } from 'node:child_process'
import { chmod, lstat, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { isTaskFolderName, runFolderName, sharedFolderName } from '../../domains/jobs/task-model.ts'
import { MusterError, systemCodeOf } from '../../lib/errors.ts'
import { makeFolder } from '../../lib/make-folder.ts'

export const secretsName = 'secrets'

const run = promisify(execFile)

export type TaskFolders = {
  /** Where the task runs. */
  readonly task: string
  readonly local: string
  readonly secrets: string
  readonly shared: string
  readonly logs: string
  /** Of the driver. */
  readonly run: string
}

export class AllocationFolder {
  readonly path: string
  /** Of the allocation. */
  readonly id: string

  constructor(root: string, allocation: string) {
    this.id = allocation
    this.path = join(root, allocation)
  }

  get shared(): string {
    return join(this.path, sharedFolderName)
  }

  get logs(): string {
    return join(this.shared, 'logs')
  }

  /** Throws `invalid_argument` for a name that is no folder's of its own. */
  of(task: string): TaskFolders {
    if (!isTaskFolderName(task)) {
      throw new MusterError('invalid_argument', `a task may not be called ${JSON.stringify(task)}`)
    }
    const own = join(this.path, task)
    return {
      task: own,
      local: join(own, 'local'),
      secrets: join(own, secretsName),
      shared: this.shared,
      logs: this.logs,
      run: join(this.path, runFolderName, task),
    }
  }

  async make(folders: TaskFolders): Promise<void> {
    const { task, local, secrets, shared, logs, run } = folders
    await makeFolder(this.path, 0o711)
    for (const path of [join(shared, 'data'), join(shared, 'tmp'), logs, task, local]) {
      await makeFolder(path, 0o755)
    }
    for (const path of [join(task, 'tmp'), secrets, run]) {
      await makeFolder(path, 0o700)
      // One that was there keeps the mode it had.
      await chmod(path, 0o700)
    }
  }

  /**
   * Takes over what the allocation left in its shared data and in the tasks' own folders. It has ended, and the tasks of this one have not
   * begun. What is taken over already stays.
   */
  async inherit(allocation: string, tasks: readonly string[]): Promise<void> {
    const from = new AllocationFolder(dirname(this.path), allocation)
    await makeFolder(this.path, 0o711)
    await moveFolder(join(from.shared, 'data'), join(this.shared, 'data'))
    for (const task of tasks) await moveFolder(from.of(task).local, this.of(task).local)
  }

  async remove(): Promise<void> {
    try {
      await rm(this.path, { recursive: true, force: true })
    } catch (error) {
      // A task may nest folders deeper than a path is long; the system's own program goes down from folder to folder.
      if (systemCodeOf(error) !== 'ENAMETOOLONG') throw error
      await run('/bin/rm', ['-rf', '--', this.path])
    }
  }
}

/** Nothing, where there is no such folder, or something is at its new place. A link in place of the folder is the task's own doing, and stays. */
async function moveFolder(from: string, to: string): Promise<void> {
  try {
    if (!(await lstat(from)).isDirectory()) return
    await makeFolder(dirname(to), 0o755)
    await rename(from, to)
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(systemCodeOf(error))) throw error
  }
}
