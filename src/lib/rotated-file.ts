/**
 * A file that only grows, line by line, until it is large enough; then it gets a name with the time in it, a new one is
 * begun, and of the old ones the oldest goes. Only its owner may read it. For one writer at a time.
 *
 * What `append` resolved for is with the system: it outlives the process, and the machine as far as the system writes it
 * out. A line is there whole or not at all, unless the machine stopped in the middle of it.
 */
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makeFolder } from './make-folder.ts'
import { writeAll } from './write-all.ts'

export type RotatedFileSettings = {
  /** Absolute. */
  readonly path: string
  /** A file that is at least this long is followed by a new one. */
  readonly bytesMax: number
  /** Earlier files that are kept beside the current one. */
  readonly filesMax: number
}

const newline = 0x0a

export class RotatedFile {
  readonly #settings: RotatedFileSettings
  readonly #wallMs: () => number
  #file: FileHandle
  #length: number
  /** Of the last rotation: the time in its name, and which of that time it was. */
  #last = { ms: -Infinity, count: 1 }

  private constructor(
    settings: RotatedFileSettings,
    wallMs: () => number,
    file: FileHandle,
    length: number,
  ) {
    this.#settings = settings
    this.#wallMs = wallMs
    this.#file = file
    this.#length = length
  }

  /** Goes on with the file if it is there. Rejects with the system's error. */
  static async open(settings: RotatedFileSettings, wallMs: () => number): Promise<RotatedFile> {
    const file = await openFile(settings.path)
    try {
      return new RotatedFile(settings, wallMs, file, await lengthOf(file))
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /**
   * `text`: whole lines. Rejects with the system's error, and then nothing of it stays, or, where the disk does not even
   * let go of what it took, a broken line: try again with the same text.
   */
  async append(text: string): Promise<void> {
    if (this.#length >= this.#settings.bytesMax) await this.#rotate()
    const bytes = Buffer.from(text)
    try {
      await writeAll(this.#file, bytes)
      this.#length += bytes.length
    } catch (error) {
      await this.#file.truncate(this.#length).catch(() => {})
      throw error
    }
  }

  /** A tool that moved the file away gets it whole; the next line goes to a file of the old name. */
  async reopen(): Promise<void> {
    const file = await openFile(this.#settings.path)
    const length = await lengthOf(file).catch(async (error: unknown) => {
      await file.close()
      throw error
    })
    const before = this.#file
    this.#file = file
    this.#length = length
    await before.close()
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  async #rotate(): Promise<void> {
    const { path } = this.#settings
    await rename(path, await this.#freeName()).catch((error: unknown) => {
      // A tool moved it away, or an attempt before this one did and had no room for the next.
      if (!isAbsence(error)) throw error
    })
    await this.reopen()
    await this.#removeOldest()
  }

  /** Names sort by age, also when the clock goes back: of two rotations at one time the later one gets a number. */
  async #freeName(): Promise<string> {
    const { path } = this.#settings
    const ms = Math.max(this.#wallMs(), this.#last.ms)
    let count = ms === this.#last.ms ? this.#last.count + 1 : 1
    const time = new Date(ms).toISOString().replaceAll(/[-:.]/g, '')
    const nameOf = () => `${basename(path)}.${time}${count === 1 ? '' : `-${count}`}`
    const taken = new Set(await readdir(dirname(path)))
    while (taken.has(nameOf())) count += 1
    this.#last = { ms, count }
    return join(dirname(path), nameOf())
  }

  async #removeOldest(): Promise<void> {
    const { path, filesMax } = this.#settings
    const earlier = (await readdir(dirname(path))).filter((name) => isEarlier(name, basename(path)))
    const oldest = earlier.sort(byAge).slice(0, Math.max(0, earlier.length - filesMax))
    for (const name of oldest) await rm(join(dirname(path), name), { force: true })
  }
}

function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Only names that rotation gives: what others put beside the file is theirs. */
function isEarlier(name: string, current: string): boolean {
  return (
    name.startsWith(`${current}.`) && /^\d{8}T\d{9}Z(-\d+)?$/.test(name.slice(current.length + 1))
  )
}

function byAge(left: string, right: string): number {
  return left.localeCompare(right, 'en', { numeric: true })
}

async function openFile(path: string): Promise<FileHandle> {
  await makeFolder(dirname(path), 0o700)
  const file = await open(path, 'a+', 0o600)
  try {
    // One that was there before may be open to others.
    await file.chmod(0o600)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** A line that a crash of the machine cut off is ended first, or the next one would be a part of it. */
async function lengthOf(file: FileHandle): Promise<number> {
  const { size } = await file.stat()
  if (size === 0) return 0
  const last = Buffer.alloc(1)
  await file.read(last, 0, 1, size - 1)
  if (last[0] === newline) return size
  await file.write('\n')
  return size + 1
}
