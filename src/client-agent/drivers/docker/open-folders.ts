/**
 * The user of a container is seldom that of the agent: the folders that are its own are open to anybody. Nobody else gets there, for
 * the data folder of the agent is the agent's alone.
 */
import { join } from 'node:path'
import type { TaskToStart } from '../driver.ts'
import { openFolder } from '../folder-handle.ts'

const mode = 0o777

export async function openFolders({ shared, local, secrets }: TaskToStart): Promise<void> {
  for (const path of [local, secrets, join(shared, 'data'), join(shared, 'tmp')]) {
    await using folder = await openFolder(path).catch(() => null)
    await folder?.chmod(mode)
  }
}
