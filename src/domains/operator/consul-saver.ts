/**
 * A save in Consul's container, which names the archive's size before its content: so the archive is written to a file first,
 * which is gone once it was sent.
 */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { refusalAsUnavailable } from '../../lib/disk-gate.ts'
import { MusterError } from '../../lib/errors.ts'
import { readArchive, type ArchiveHeader } from './archive.ts'
import { writeConsulArchive } from './consul-archive.ts'

/** Saves of this kind at a time on one server: each takes the archive's size on the disk. */
export const consulSavesMax = 1
export const savePrefix = 'save-'

export class ConsulSaver {
  readonly #folder: string
  #running = 0

  /** Its files are those that begin with `savePrefix`. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Throws `overloaded` at the bound. What it returns is read to its end, or its `return` is called. */
  save(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    if (this.#running >= consulSavesMax) {
      throw new MusterError('overloaded', 'a snapshot is being saved on this server already')
    }
    return this.#saved(archive)
  }

  async *#saved(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    if (this.#running >= consulSavesMax) {
      throw new MusterError('overloaded', 'a snapshot is being saved on this server already')
    }
    this.#running += 1
    const path = join(this.#folder, `${savePrefix}${randomUUID()}`)
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      const file = await open(path, 'wx', 0o600)
      try {
        for await (const bytes of archive) await file.writeFile(bytes)
      } finally {
        await file.close()
      }
      const { size } = await stat(path)
      yield* writeConsulArchive(await headerOf(path), { path, bytes: size })
    } catch (error) {
      throw refusalAsUnavailable(error)
    } finally {
      this.#running -= 1
      await rm(path, { force: true })
    }
  }
}

async function headerOf(path: string): Promise<ArchiveHeader> {
  for await (const part of readArchive(createReadStream(path))) {
    if (part.type === 'header') return part.header
  }
  throw new MusterError('internal', 'an archive was written without its header')
}
