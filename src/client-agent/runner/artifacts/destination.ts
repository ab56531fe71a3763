/**
 * Where an artifact goes: files, folders and links below one folder of the task. No path and no link leads out of it, nothing is
 * written through a link, and the bounds hold.
 */
import { constants } from 'node:fs'
import { lstat, open, rm, symlink } from 'node:fs/promises'
import { invalid } from '../../../lib/errors.ts'
import { writeAll } from '../../../lib/write-all.ts'
import { giveToOwnerOf, openFolder, within, type TaskPlace } from '../task-files.ts'
import type { Room } from './limits.ts'

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

type Link = { readonly parts: readonly string[]; readonly target: string }

export class Destination {
  readonly #place: TaskPlace
  readonly #room: Room
  readonly #signal: AbortSignal
  /** Made when all else is there, so that nothing is written through one. */
  readonly #links: Link[] = []

  constructor(place: TaskPlace, room: Room, signal: AbortSignal) {
    this.#place = place
    this.#room = room
    this.#signal = signal
  }

  async folder(path: string): Promise<void> {
    this.#room.takeFile()
    await using _folder = await openFolder(this.#below(partsOf(path)), true)
  }

  /** In place of what was there. */
  async file(path: string, mode: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    this.#room.takeFile()
    const parts = partsOf(path)
    const name = lastOf(parts, path)
    await using folder = await openFolder(this.#below(parts.slice(0, -1)), true)
    const target = within(folder, name)
    const before = await lstat(target).catch(() => null)
    if (before?.isDirectory() === true) throw invalid(`${path} is a folder already`)
    await rm(target, { force: true })
    await using file = await open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    for await (const chunk of chunks) {
      this.#signal.throwIfAborted()
      this.#room.takeBytes(chunk.length)
      await writeAll(file, chunk)
    }
    // No program gets another's rights by an artifact.
    await file.chmod((mode & 0o777) | 0o600)
    await giveToOwnerOf(folder, file)
  }

  /** One that leads to where nothing of this artifact is, is refused. */
  link(path: string, target: string): void {
    this.#room.takeFile()
    const parts = partsOf(path)
    lastOf(parts, path)
    const way = target.split('/').filter((part) => part !== '' && part !== '.')
    const ups = way.findIndex((part) => part !== '..')
    const below = ups < 0 ? [] : way.slice(ups)
    // After a name, `..` would go up from wherever a link of that name leads.
    const leadsOut =
      target.startsWith('/') ||
      target.includes('\0') ||
      below.includes('..') ||
      (ups < 0 ? way.length : ups) > parts.length - 1
    if (leadsOut) throw invalid(`the link ${path} leads out of the artifact`)
    this.#links.push({ parts, target })
  }

  /** A second name of a file that came before. */
  async copy(path: string, from: string): Promise<void> {
    const parts = partsOf(from)
    await using folder = await openFolder(this.#below(parts.slice(0, -1)), false)
    await using file = await open(within(folder, lastOf(parts, from)), O_RDONLY | O_NOFOLLOW)
    const stats = await file.stat()
    if (!stats.isFile()) throw invalid(`${path} is the same as ${from}, which is no file`)
    await this.file(path, stats.mode, file.createReadStream({ autoClose: false }))
  }

  async finish(): Promise<void> {
    for (const { parts, target } of this.#links) {
      await using folder = await openFolder(this.#below(parts.slice(0, -1)), true)
      const path = within(folder, parts.at(-1) ?? '')
      const before = await lstat(path).catch(() => null)
      if (before?.isDirectory() === true) throw invalid(`${parts.join('/')} is a folder already`)
      await rm(path, { force: true })
      await symlink(target, path)
    }
  }

  #below(parts: readonly string[]): TaskPlace {
    return { root: this.#place.root, parts: [...this.#place.parts, ...parts] }
  }
}

function partsOf(path: string): readonly string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (path.startsWith('/') || path.includes('\0') || parts.includes('..')) {
    throw invalid(`${JSON.stringify(path)} leads out of the artifact`)
  }
  return parts
}

function lastOf(parts: readonly string[], path: string): string {
  return parts.at(-1) ?? fail(`${JSON.stringify(path)} is no name of a file`)
}

function fail(text: string): never {
  throw invalid(text)
}
