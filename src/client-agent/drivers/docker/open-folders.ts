/**
 * The user of a container is seldom that of the agent: the folders that are its own are open to anybody. Nobody else gets there, for
 * the data folder of the agent is the agent's alone.
 *
 * A task may have left a link where a folder was, and none is followed.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { TaskToStart } from '../driver.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
const mode = 0o777

export async function openFolders({ shared, local, secrets }: TaskToStart): Promise<void> {
  for (const path of [local, secrets, join(shared, 'data'), join(shared, 'tmp')]) {
    const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(() => null)
    if (folder === null) continue
    try {
      await folder.chmod(mode)
    } finally {
      await folder.close()
    }
  }
}
