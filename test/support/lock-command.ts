/**
 * `muster lock` as real processes, each running a child that notes every few milliseconds that it lives and writes under its
 * lock as fast as it may. The notes are in one file, by the clock that all processes of the machine share.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Cluster } from './cluster.ts'
import { eventually, type Patience } from './eventually.ts'
import { ownProgram, withoutLoader } from './server-process.ts'

export type Note = {
  readonly atMs: number
  /** The lock's, as the child was told. */
  readonly key: string
  readonly index: number
  readonly pid: number
  readonly word: 'begin' | 'alive' | 'term' | 'end' | 'written' | 'refused' | 'failed'
}

const childSource = `
import { appendFileSync } from 'node:fs'
const { JOURNAL, SERVERS, LIFE_MS, STUBBORN, MUSTER_LOCK_KEY, MUSTER_LOCK_INDEX } = process.env
const key = MUSTER_LOCK_KEY, index = Number(MUSTER_LOCK_INDEX), servers = SERVERS.split(',')
const note = (word) =>
  appendFileSync(JOURNAL, JSON.stringify({ atMs: Number(process.hrtime.bigint()) / 1e6, key, index, pid: process.pid, word }) + '\\n')
note('begin')
process.on('SIGTERM', () => {
  note('term')
  if (STUBBORN === undefined) process.exit(0)
})
setInterval(() => note('alive'), 20)
setTimeout(() => {
  note('end')
  process.exit(Number(process.env.EXIT_CODE ?? 0))
}, Number(LIFE_MS))
for (let at = 0; ; at += 1) {
  const fence = 'lock=' + encodeURIComponent(key) + '&lock_index=' + index
  const path = servers[at % servers.length] + '/v1/kv/data/' + key + '?' + fence
  const status = await fetch(path, { method: 'PUT', body: String(index), signal: AbortSignal.timeout(2000) })
    .then((answer) => answer.text().then(() => answer.status), () => 0)
  note(status === 200 ? 'written' : status === 409 ? 'refused' : 'failed')
  await new Promise((resolve) => setTimeout(resolve, 50))
}
`

export type LockRun = {
  readonly process: ChildProcess
  readonly pid: number
  /** Exit code, or null after a signal, with all that it said. */
  readonly ended: Promise<{ readonly code: number | null; readonly err: string }>
}

export type LockRunOptions = {
  readonly lifeMs?: number
  readonly env?: Readonly<Record<string, string>>
  /** Unless said: the cluster's servers. */
  readonly addresses?: readonly string[]
}

export class LockCommands {
  readonly #cluster: Cluster
  readonly #journal: string
  readonly #child: string
  readonly #running = new Set<ChildProcess>()

  private constructor(cluster: Cluster) {
    this.#cluster = cluster
    this.#journal = join(cluster.folder, 'journal')
    this.#child = join(cluster.folder, 'child.mjs')
  }

  static async open(cluster: Cluster): Promise<LockCommands> {
    const commands = new LockCommands(cluster)
    await writeFile(commands.#child, childSource)
    await writeFile(commands.#journal, '')
    return commands
  }

  get addresses(): readonly string[] {
    return this.#cluster.servers.map(({ spec }) => `http://127.0.0.1:${spec.ports.http}`)
  }

  /** `muster lock` with these words, and the child that notes as its command. */
  async run(words: readonly string[], options: LockRunOptions = {}): Promise<LockRun> {
    const { lifeMs = 60_000, env = {}, addresses = this.addresses } = options
    const guarded = [process.execPath, this.#child]
    const lock = ['lock', '-verbose', '-shell=false', ...words, ...guarded]
    const [command, args] = withoutLoader(ownProgram, lock)
    const child = spawn(command, args, {
      env: {
        PATH: '/usr/bin:/bin',
        MUSTER_ADDR: addresses.join(','),
        SERVERS: this.addresses.join(','),
        JOURNAL: this.#journal,
        LIFE_MS: String(lifeMs),
        ...env,
      },
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    this.#running.add(child)
    let err = ''
    child.stderr.on('data', (part: Buffer) => {
      err += part.toString()
    })
    const ended = once(child, 'exit').then(([code]) => {
      this.#running.delete(child)
      return { code: typeof code === 'number' ? code : null, err }
    })
    const { pid } = child
    if (pid === undefined) throw new Error('muster lock does not start')
    await appendFile(join(this.#cluster.folder, 'pids'), `${pid}\n`)
    return { process: child, pid, ended }
  }

  /** All that children noted below a prefix, in order of time. */
  async notes(prefix: string): Promise<readonly Note[]> {
    const lines = (await readFile(this.#journal, 'utf8')).split('\n').slice(0, -1)
    return lines
      .map((line) => JSON.parse(line) as Note)
      .filter(({ key }) => key.startsWith(`${prefix}/`))
      .sort((left, right) => left.atMs - right.atMs)
  }

  /** Waits for a note that `matches`, and gives the first. */
  noted(
    what: string,
    prefix: string,
    matches: (note: Note) => boolean,
    patience: Patience = {},
  ): Promise<Note> {
    return eventually(what, async () => (await this.notes(prefix)).find(matches), patience)
  }

  /** Ends those that still run, and what they ran. */
  async stop(): Promise<void> {
    const running = [...this.#running]
    await Promise.all(
      running.map(async (child) => {
        child.kill('SIGCONT')
        child.kill('SIGTERM')
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      }),
    )
  }
}

/** The processes that this one started. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.trim().split(/\s+/).filter(Boolean).map(Number)
}

/** Not so when it is dead and its parent, standing still, has not taken note of it. */
export async function isRunning(pid: number): Promise<boolean> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const [, state = 'Z'] = /\) (\S)/.exec(text) ?? []
  return state !== 'Z' && state !== 'X'
}

/** From its first note to its last. */
export type Life = { readonly index: number; readonly fromMs: number; readonly toMs: number }

export function livesOf(notes: readonly Note[]): readonly Life[] {
  const byPid = Map.groupBy(notes, ({ pid }) => pid)
  return [...byPid.values()].map((own) => ({
    index: own[0]?.index ?? 0,
    fromMs: Math.min(...own.map(({ atMs }) => atMs)),
    toMs: Math.max(...own.map(({ atMs }) => atMs)),
  }))
}

/** The most that were alive at one moment. */
export function mostAtOnce(lives: readonly Life[]): number {
  const counts = lives.map(
    ({ fromMs }) => lives.filter((other) => other.fromMs <= fromMs && fromMs <= other.toMs).length,
  )
  return Math.max(0, ...counts)
}
