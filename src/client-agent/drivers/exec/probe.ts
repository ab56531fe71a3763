/** Which walls this machine lets the agent build. Found out once, by building some around nothing. */
import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import type { DriverCondition } from '../driver.ts'
import type { ControlGroups } from './control-group.ts'
import { shell } from '../supervised-process.ts'
import { toolsNeeded, unshareWords } from './walls.ts'

const msMax = 5_000
const textLengthMax = 256
/** As `walls` does: a root that is the namespace's own. */
const attempt = 'mount -t proc proc /proc && mount -t tmpfs tmpfs /tmp && exec setpriv --dump'

/** Never rejects. */
export async function healthOf(groups: ControlGroups): Promise<DriverCondition> {
  const problem = await problemOf()
  if (problem !== null) {
    return { detected: true, healthy: false, description: bounded(problem), attributes: [] }
  }
  const limits = groups.type === 'there'
  return {
    detected: true,
    healthy: true,
    description: limits ? 'Healthy' : bounded(`Healthy; ${groups.reason}`),
    attributes: [
      ['driver.exec.namespaces', 'ipc,mount,pid'],
      ['driver.exec.cgroups', limits ? 'cpu,memory,pids' : 'none'],
    ],
  }
}

/** Null: namespaces can be made. */
async function problemOf(): Promise<string | null> {
  for (const tool of toolsNeeded) {
    const isThere = await access(tool, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (!isThere) return `exec needs ${tool}, which this machine has not`
  }
  const failure = await failureOf([...unshareWords(false), shell, '-c', attempt])
  return failure === null ? null : `exec needs root, or CAP_SYS_ADMIN: ${failure}`
}

/** What the words say where they fail; null: they do not. */
function failureOf([program = '', ...args]: readonly string[]): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
  execFile(program, args, { timeout: msMax, killSignal: 'SIGKILL', env }, (error, _, said) => {
    if (error === null) resolve(null)
    else if (error.killed === true) resolve(`no answer within ${msMax / 1_000}s`)
    else resolve(said.trim().split('\n').at(-1) ?? error.message)
  })
  return promise
}

function bounded(text: string): string {
  return text.slice(0, textLengthMax)
}
