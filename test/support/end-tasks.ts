/** Tasks outlive their agents: those of a test end with it. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Of agents whose data is below the folder; they are to be dead. The shells above tasks name it, and tasks have it in their environment. */
export async function endTasks(folder: string): Promise<void> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 1 && pid !== process.pid)
  for (const pid of pids) {
    const texts = await Promise.all(['cmdline', 'environ'].map((name) => textOf(pid, name)))
    if (!texts.some((text) => text.includes(`${folder}/`))) continue
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended meanwhile.
    }
  }
}

/** '': it is gone, or another user's. */
async function textOf(pid: number, name: string): Promise<string> {
  return readFile(join('/proc', String(pid), name), 'utf8').catch(() => '')
}
