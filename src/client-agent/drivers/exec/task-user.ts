/** Who a task runs as, and the folders that are theirs. */
import { execFile } from 'node:child_process'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid } from '../../../lib/errors.ts'
import type { FoldersOfTask } from '../driver.ts'
import { openFolder } from '../folder-handle.ts'

export const userDefault = 'nobody'
const namePattern = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}$/
const lookUpMsMax = 10_000

export type TaskUser = { readonly name: string; readonly uid: number; readonly gid: number }

/** As the machine knows the user. Throws `invalid_argument` for root and for an unknown one. */
export async function userOf(asked: string): Promise<TaskUser> {
  const name = asked === '' ? userDefault : asked
  if (!namePattern.test(name)) throw invalid(`${JSON.stringify(name)} is no name of a user`)
  const [known = '', , uid = '', gid = ''] = (await passwdLineOf(name)).split(':')
  if (!/^\d{1,10}$/.test(uid) || !/^\d{1,10}$/.test(gid)) {
    throw invalid(`this machine has no user ${JSON.stringify(name)}`)
  }
  const user = { name: known, uid: Number(uid), gid: Number(gid) }
  if (user.uid === 0) throw invalid('exec runs no task as root: name another user')
  return user
}

/** Empty: there is none. Whatever the machine keeps its users in is asked, so not a file alone. */
function passwdLineOf(name: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const options = { timeout: lookUpMsMax, env: {} }
  execFile('/usr/bin/getent', ['passwd', name], options, (error, line) => {
    resolve(error === null ? line.trim() : '')
  })
  return promise
}

/** No link is followed: others of the allocation may have the machine's root, and make one. */
export async function giveFolders(folders: FoldersOfTask, { uid, gid }: TaskUser): Promise<void> {
  const { local, secrets, task, shared, logs } = folders
  for (const path of [local, secrets, join(task, 'tmp')]) {
    await onFolder(path, (folder) => folder.chown(uid, gid))
  }
  // Whatever the agent's umask made of them.
  for (const path of [shared, logs]) await onFolder(path, (folder) => folder.chmod(0o755))
  // Tasks of the allocation may have several users. Its logs stay the agent's, which opens them by their names.
  await onFolder(join(shared, 'data'), (folder) => folder.chmod(0o777))
  await onFolder(join(shared, 'tmp'), (folder) => folder.chmod(0o1777))
}

async function onFolder(path: string, act: (folder: FileHandle) => Promise<void>): Promise<void> {
  await using folder = await openFolder(path)
  await act(folder)
}
