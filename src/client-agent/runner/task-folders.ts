/** The folders of an allocation: one that its tasks share, and for each task its own, of which `secrets` is for its owner alone. */
import { execFile } from 'node:child_process'
import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
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

  get logs(): string {
    return join(this.path, sharedFolderName, 'logs')
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
      shared: join(this.path, sharedFolderName),
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
