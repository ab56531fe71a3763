/**
 * What the agent keeps of its allocations over a restart: a file for each, replaced as a whole. Specifications may hold secrets,
 * so only its owner reads one.
 */
import { readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/schema'
import { Assigned } from '../../domains/allocations/feed-model.ts'
import { LogOrigin } from '../../domains/allocations/log-model.ts'
import { ClientReport } from '../../domains/allocations/model.ts'
import { writeDurably } from '../../lib/durable-file.ts'
import { codeOf, MusterError, systemCodeOf, textOf } from '../../lib/errors.ts'
import { isJsonObject } from '../../lib/json-object.ts'
import type { Logger } from '../../lib/log.ts'
import { makeFolder } from '../../lib/make-folder.ts'
import { Handle } from '../drivers/driver.ts'
import { isOver } from './allocation.ts'
import { TaskMachine } from './task.ts'

const formatVersion = 1
const suffix = '.json'
const unreadable = '.unreadable'
const asideSuffix = `${suffix}${unreadable}`

/** Its times are those of the wall clock at its writing: see `kept-times.ts`. */
export const KeptAllocation = Type.Object({
  version: Type.Literal(formatVersion),
  assigned: Assigned,
  /** When it was written. Earlier versions kept none. */
  savedMs: Type.Optional(Type.Number()),
  /** When the agent got it. */
  sinceMs: Type.Number(),
  isStopped: Type.Boolean(),
  /** In the order of the group. */
  tasks: Type.Array(
    Type.Object({
      machine: TaskMachine,
      handle: Type.Union([Type.Null(), Handle]),
      /** Of the newest start: see `TaskToStart`. Earlier versions kept none. */
      run: Type.Optional(Type.String()),
    }),
  ),
  health: ClientReport.properties.health,
  /** A server knows that it is over. */
  isReported: Type.Boolean(),
})
export type KeptAllocation = Readonly<Static<typeof KeptAllocation>>

const accepts = Compile(KeptAllocation)
const acceptsLog = Compile(Type.Object({ version: Type.Literal(formatVersion), log: LogOrigin }))

export class StateStore {
  readonly #folder: string
  readonly #log: Logger
  readonly #lost = new Set<string>()

  constructor(folder: string, log: Logger) {
    this.#folder = folder
    this.#log = log
  }

  /** Allocations whose state was put aside, now or at an earlier start, and of which no task was taken up since. */
  get lost(): ReadonlySet<string> {
    return this.#lost
  }

  /**
   * A file that cannot be read is put aside: what it was of is asked of the servers again. Throws `incompatible` for one of a newer
   * program.
   */
  async load(): Promise<readonly KeptAllocation[]> {
    await makeFolder(this.#folder, 0o700)
    const kept: KeptAllocation[] = []
    for (const name of await readdir(this.#folder)) {
      if (name.endsWith(asideSuffix)) this.#lost.add(name.slice(0, -asideSuffix.length))
      if (!name.endsWith(suffix)) continue
      const path = join(this.#folder, name)
      try {
        const value: unknown = JSON.parse(await readFile(path, 'utf8'))
        refuseNewer(value, path)
        if (!accepts.Check(value) || !fits(value)) throw new Error('it is not the state of one')
        kept.push(value)
      } catch (error) {
        if (codeOf(error) === 'incompatible') throw error
        const reason = textOf(error)
        this.#log.error('the state of an allocation cannot be read', { path, error: reason })
        await rename(path, `${path}${unreadable}`)
        this.#lost.add(name.slice(0, -suffix.length))
      }
    }
    for (const one of kept) await this.#forgetAside(one)
    return kept
  }

  /** Resolves once it is durable. The caller writes one of an allocation at a time. */
  async save(kept: KeptAllocation): Promise<void> {
    await writeDurably(this.#pathOf(kept.assigned.id), JSON.stringify(kept))
    await this.#forgetAside(kept)
  }

  /** The log that the kept indexes are of. Null: no server has told. */
  async loadLog(): Promise<LogOrigin | null> {
    const path = this.#logPath
    try {
      const value: unknown = JSON.parse(await readFile(path, 'utf8'))
      if (!acceptsLog.Check(value)) throw new Error('it names no cluster')
      return value.log
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return null
      this.#log.error('of which cluster the work is cannot be read', { path, error: textOf(error) })
      return null
    }
  }

  async saveLog(log: LogOrigin): Promise<void> {
    await writeDurably(this.#logPath, JSON.stringify({ version: formatVersion, log }))
  }

  async remove(id: string): Promise<void> {
    await rm(this.#pathOf(id), { force: true })
    if (this.#lost.delete(id)) await rm(this.#asideOf(id), { force: true })
  }

  /** What was put aside is known anew. Of one that was not to run any more, what ran may not have been ended yet. */
  async #forgetAside({ assigned: { id }, tasks, isStopped }: KeptAllocation): Promise<void> {
    if (!this.#lost.has(id)) return
    if (isOver({ tasks: tasks.map(({ machine }) => machine), isStopped })) return
    this.#lost.delete(id)
    await rm(this.#asideOf(id), { force: true })
  }

  /** Not named as the state of an allocation. */
  get #logPath(): string {
    return join(this.#folder, 'log')
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${id}${suffix}`)
  }

  #asideOf(id: string): string {
    return join(this.#folder, `${id}${asideSuffix}`)
  }
}

/** Put aside, all that it says of tasks that run would be forgotten. */
function refuseNewer(value: unknown, path: string): void {
  const version = isJsonObject(value) ? value['version'] : null
  if (typeof version !== 'number' || version <= formatVersion) return
  throw new MusterError(
    'incompatible',
    `${path} is of format ${version}, and this program reads up to ${formatVersion}: start the newer program again, or move the file away; of its allocation the servers are asked then, and tasks that run are found by their processes`,
  )
}

function fits({ assigned, tasks }: KeptAllocation): boolean {
  return assigned.group.Tasks.length === tasks.length
}
