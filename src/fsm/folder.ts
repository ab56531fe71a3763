/**
 * The machine's folder: which LevelDB folder inside it is the state, and who may use it.
 *
 * `STATE` names the folder in use and is replaced atomically (written aside, synced, renamed, folder synced). Every other
 * `state-*` folder is left over from a snapshot that never took effect, or that was replaced, and is removed when opened next.
 * One that `STATE` has not named yet is marked before anything is in it; so where `STATE` is missing, a folder without the mark
 * is a state that was in use.
 * `damaged-*` is the last state that could not be opened, for people to look at.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import { writeDurably } from '../lib/durable-file.ts'
import { fullTextOf, MusterError, systemCodeOf, textOf } from '../lib/errors.ts'
import { namesIn } from '../lib/folder-names.ts'
import { FileLock } from '../lib/file-lock.ts'
import { tableNames } from './level-folder.ts'
import { stateFormat } from './meta.ts'
import { Validator } from './validator.ts'

const pointerName = 'STATE'
const lockName = 'state.lock'
/** A LevelDB folder that programs before this one used as their lock. */
const formerLockName = 'lock'
const statePattern = /^state-(\d+)$/
const damagedPattern = /^damaged-\d+$/
/** In a state folder: reading it failed while a server ran, so the next start does not use it. */
const damageMark = 'DAMAGED'
/** In a state folder that `STATE` has not named yet: what is in it counts for nothing. */
const unchosenMark = 'UNCHOSEN'

const Pointer = new Validator(
  Type.Object({
    format: Type.Integer({ minimum: 1 }),
    folder: Type.String({ pattern: '^state-[0-9]+$' }),
  }),
)

export class StateFolder {
  readonly path: string
  readonly #lock: FileLock
  #newest = 0

  private constructor(path: string, lock: FileLock) {
    this.path = path
    this.#lock = lock
  }

  /** Throws `unavailable` when another process has it open, or when the disk does not let it be used. */
  static async open(path: string): Promise<StateFolder> {
    let lock: FileLock | null
    try {
      await mkdir(path, { recursive: true, mode: 0o700 })
      lock = await FileLock.take(join(path, lockName))
    } catch (error) {
      throw new MusterError(
        'unavailable',
        `the state in ${path} cannot be opened: ${fullTextOf(error)}`,
        { cause: error },
      )
    }
    if (lock === null) {
      throw new MusterError(
        'unavailable',
        `the state in ${path} is in use by another process: stop that one first`,
      )
    }
    await rm(join(path, formerLockName), { recursive: true, force: true }).catch(() => {})
    return new StateFolder(path, lock)
  }

  /**
   * The folder in use, null in a new one. Throws `incompatible` when a newer program wrote it, `corrupt` when there is a state and
   * no file that names it.
   */
  async current(): Promise<string | null> {
    const path = join(this.path, pointerName)
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (error) {
      if (systemCodeOf(error) !== 'ENOENT') throw error
      const unnamed = await this.#newestChosen()
      if (unnamed === null) return null
      throw new MusterError(
        'corrupt',
        `${path} is missing, which says that ${this.pathOf(unnamed)} is the state`,
      )
    }
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch (error) {
      throw new MusterError('corrupt', `${path} is not JSON: ${textOf(error)}`)
    }
    if (!Pointer.accepts(value)) {
      throw new MusterError('corrupt', `${path} does not name a format and a state folder`)
    }
    assertFormat(value.format, this.path)
    return value.folder
  }

  /** Makes a folder of a new name, which a start removes as long as `choose` was not called for it. */
  async begin(): Promise<string> {
    const name = await this.#unusedName()
    try {
      await mkdir(this.pathOf(name), { mode: 0o700 })
      await writeDurably(join(this.pathOf(name), unchosenMark), '')
      return name
    } catch (error) {
      await this.remove(name).catch(() => undefined)
      throw error
    }
  }

  /** A name that no folder has and none had in this process. */
  async #unusedName(): Promise<string> {
    for (const name of await readdir(this.path)) {
      const number = Number(statePattern.exec(name)?.[1] ?? 0)
      this.#newest = Math.max(this.#newest, number)
    }
    this.#newest += 1
    return `state-${this.#newest}`
  }

  /** From the moment this resolves, and possibly a little before, `name` is the state after any crash. */
  async choose(name: string): Promise<void> {
    const text = `${JSON.stringify({ format: stateFormat, folder: name })}\n`
    await writeDurably(join(this.path, pointerName), text)
    await this.unmark(name)
  }

  /** `STATE` names this one. Best effort: the next start does it again. */
  async unmark(name: string): Promise<void> {
    await rm(join(this.pathOf(name), unchosenMark), { force: true }).catch(() => undefined)
  }

  /** Puts the state that `current` names, or failed to name, out of the way; the one that was set aside before goes. */
  async setAside(): Promise<string | null> {
    const names = await readdir(this.path)
    const named = await this.current().catch(() => null)
    const name = named !== null && names.includes(named) ? named : await this.#newestChosen()
    if (name === null) return null
    for (const earlier of names) if (damagedPattern.test(earlier)) await this.remove(earlier)
    const aside = name.replace('state', 'damaged')
    await rename(this.pathOf(name), this.pathOf(aside))
    return this.pathOf(aside)
  }

  /** What `markDamaged` was told of this state by a process before, null if it was not called. */
  async damageOf(name: string): Promise<string | null> {
    return readFile(join(this.pathOf(name), damageMark), 'utf8').catch(() => null)
  }

  /** The next start finds another state. Best effort: the disk may be failing. */
  async markDamaged(name: string, reason: string): Promise<void> {
    await writeFile(join(this.pathOf(name), damageMark), `${reason}\n`).catch(() => undefined)
  }

  pathOf(name: string): string {
    return join(this.path, name)
  }

  async remove(name: string): Promise<void> {
    await rm(this.pathOf(name), { recursive: true, force: true })
  }

  /** Removes every state folder except `kept`. */
  async removeOthers(kept: string): Promise<void> {
    for (const name of await readdir(this.path)) {
      if (name !== kept && statePattern.test(name)) await this.remove(name)
    }
  }

  close(): void {
    this.#lock.release()
  }

  /** The last folder that `STATE` named, found without it; null when it never named one. */
  async #newestChosen(): Promise<string | null> {
    let newest = 0
    for (const name of await readdir(this.path)) {
      const number = Number(statePattern.exec(name)?.[1] ?? 0)
      if (number <= newest || (await namesIn(this.pathOf(name))).includes(unchosenMark)) continue
      // Whatever `STATE` names has a table file, see `Store.settle`: one without was begun by a program that made no marks.
      if ((await tableNames(this.pathOf(name))).length > 0) newest = number
    }
    return newest === 0 ? null : `state-${newest}`
  }
}

/** `where`: a folder, or who sent it. */
export function assertFormat(format: number, where: string): void {
  if (format <= stateFormat) return
  throw new MusterError(
    'incompatible',
    `the state in ${where} has format ${format}, written by a newer program; this one knows formats up to ${stateFormat}: run the newer one`,
  )
}
