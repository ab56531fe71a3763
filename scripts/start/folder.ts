/**
 * The folder of a local cluster: one key for all, and per agent a configuration, the data and a log.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { agentConfig, type AgentPlan } from './options.ts'

const KEY_FILE = 'cluster.key'
const KEY_BYTES = 32
/** A log over this size is put aside at the next start; one older log is kept. */
const LOG_BYTES_MAX = 16 * 1024 * 1024

/** Names of the servers, or the client agents, that have data here. */
export async function existing(
  dataDir: string,
  kind: AgentPlan['kind'],
): Promise<readonly string[]> {
  const names = await readdir(dataDir).catch(() => [])
  const pattern = kind === 'server' ? /^s\d+$/ : /^c\d+$/
  return names.filter((name) => pattern.test(name)).sort()
}

/** Removes the servers and client agents and nothing else: the key and whatever people keep beside them stay. */
export async function wipe(dataDir: string): Promise<void> {
  const [servers, clients] = [await existing(dataDir, 'server'), await existing(dataDir, 'client')]
  for (const name of [...servers, ...clients]) {
    await rm(join(dataDir, name), { recursive: true, force: true })
  }
}

/** Makes folders, key and configurations, and puts long logs aside. */
export async function prepare(
  dataDir: string,
  plans: readonly AgentPlan[],
  tlsFolder: string | null = null,
): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const keyFile = await ensureKey(dataDir)
  for (const plan of plans) {
    await mkdir(plan.folder, { recursive: true, mode: 0o700 })
    await writeFile(plan.configFile, agentConfig(plan, plans, { keyFile, tlsFolder }))
    await rotate(plan.logFile)
  }
}

/** Without this key the data cannot be read: it survives `--fresh`, and is never replaced. */
async function ensureKey(dataDir: string): Promise<string> {
  const path = join(dataDir, KEY_FILE)
  const key = `${randomBytes(KEY_BYTES).toString('base64')}\n`
  await writeFile(path, key, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  })
  return path
}

async function rotate(logFile: string): Promise<void> {
  const found = await stat(logFile).catch(() => null)
  if (found !== null && found.size > LOG_BYTES_MAX) await rename(logFile, `${logFile}.1`)
}

/** The last lines of a log, without the rest of a line that was cut. */
export async function tail(logFile: string, lines: number): Promise<string> {
  const text = await readFile(logFile, 'utf8').catch(() => '')
  return text.trimEnd().split('\n').slice(-lines).join('\n')
}
