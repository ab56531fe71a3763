/**
 * The files that a task's output is in: `task.stdout.0`, `task.stdout.1` and so on, of which the last one is written. A task holds
 * its file open over restarts of the agent, so a full one is copied to its number, gets the next number, and is emptied. What was written
 * at once and is too much for one file is copied to several.
 */
import { fstatSync, ftruncateSync, readSync } from 'node:fs'
import { link, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogKind } from '../../domains/tasks/services.ts'
import { present } from '../../lib/assert.ts'
import { isRefusal } from '../../lib/disk-gate.ts'
import { systemCodeOf, textOf } from '../../lib/errors.ts'
import { writeAll, writeAllSync } from '../../lib/write-all.ts'

export type LogLimits = { readonly filesMax: number; readonly bytesMax: number }

/** Of a full file: less than that gets no file of its own. */
const smallShare = 0.5
const bufferBytes = 64 * 1024
/** Of what fitted on a full disk when it was tried: others write to it, too. */
const fittingShare = 0.75
/** At the last one, what was written goes before its end is copied. */
const attemptsMax = 3
/** Of that, in memory. */
const lastBytesMax = 1024 * 1024

export type Rotated = {
  /** Of what is written to now. */
  readonly bytes: number
  /** It is a new file. */
  readonly isNew: boolean
  /** Of what was written since the last look, and the files have no room for. */
  readonly droppedBytes: number
  /** Why the disk took less of it than there is room for. Null: it took all. */
  readonly refusal: string | null
}

/** Tests have a disk of their own. */
export type CopyWrites = {
  readonly write: (file: FileHandle, bytes: Uint8Array) => Promise<void>
  readonly writeSync: (fd: number, bytes: Uint8Array) => void
}

const copyWrites: CopyWrites = { write: writeAll, writeSync: writeAllSync }

export type LogFile = { readonly path: string; readonly number: number }

/** The oldest first. */
export async function logFilesOf(
  folder: string,
  task: string,
  kind: LogKind,
): Promise<readonly LogFile[]> {
  const names = await readdir(folder).catch(() => [])
  return numbered(folder, names, `${task}.${kind}.`)
}

/** By number. A task may have a name that begins as those of another's files do. */
function numbered(folder: string, names: readonly string[], prefix: string): readonly LogFile[] {
  return names
    .filter((name) => name.startsWith(prefix) && /^\d{1,9}$/.test(name.slice(prefix.length)))
    .map((name) => ({ path: join(folder, name), number: Number(name.slice(prefix.length)) }))
    .sort((left, right) => left.number - right.number)
}

/** 0 for one that is not there. */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0
}

/** The one to write to. */
export async function currentLog(folder: string, task: string, kind: LogKind): Promise<string> {
  const files = await logFilesOf(folder, task, kind)
  return files.at(-1)?.path ?? join(folder, `${task}.${kind}.0`)
}

/** Begins a new file where the last one is full. Where the disk has no room for copies, what is oldest is dropped. */
export async function rotateLog(
  folder: string,
  task: string,
  kind: LogKind,
  limits: LogLimits,
  writes: CopyWrites = copyWrites,
): Promise<Rotated> {
  const files = await logFilesOf(folder, task, kind)
  const last = files.at(-1)
  if (last === undefined) return { bytes: 0, isNew: false, droppedBytes: 0, refusal: null }
  const size = await sizeOf(last.path)
  if (size < limits.bytesMax) return { bytes: size, isNew: false, droppedBytes: 0, refusal: null }
  const pathOf = (number: number): string => join(folder, `${task}.${kind}.${number}`)
  const copyOf = (at: number): string => join(folder, `${task}.${kind}.copy.${at}`)
  const written = await open(last.path, 'r+')
  const room = new Room(files.slice(0, -1))
  try {
    await removeCopies(folder, task, kind)
    const copies = await fittingCopies(written, copyOf, limits, writes, size, room)
    try {
      const count = copies.sizes.length
      if (count > 0) {
        // A reader finds each number at any time.
        const next = pathOf(last.number + count)
        await link(last.path, next).catch(() => rename(last.path, next))
      }
      for (let at = count - 1; at >= 0; at -= 1) await rename(copyOf(at), pathOf(last.number + at))
      await copies.finish()
      const all = [...files, ...copies.sizes.map((_, at) => ({ number: last.number + at }))]
      const keptFrom = last.number + count + 1 - Math.max(1, limits.filesMax)
      const gone = new Set(all.flatMap(({ number }) => (number < keptFrom ? [number] : [])))
      for (const number of gone) await rm(pathOf(number), { force: true })
      const refusal = copies.refusal ?? room.refusal
      const droppedBytes = copies.droppedBytes + room.freedBytes
      return { bytes: 0, isNew: count > 0, droppedBytes, refusal }
    } finally {
      await copies.close()
    }
  } catch (error) {
    await removeCopies(folder, task, kind)
    throw error
  } finally {
    await written.close()
  }
}

/** Also what an agent that was killed left. */
async function removeCopies(folder: string, task: string, kind: LogKind): Promise<void> {
  const copies = numbered(folder, await readdir(folder), `${task}.${kind}.copy.`)
  for (const { path } of copies) await rm(path, { force: true })
}

/** Less and less of what was written, until the disk takes it. */
async function fittingCopies(
  written: FileHandle,
  copyOf: (at: number) => string,
  limits: LogLimits,
  writes: CopyWrites,
  size: number,
  room: Room,
): Promise<Copies> {
  let bytesMax = keptBytesMax(limits)
  for (let attempt = 1; ; attempt += 1) {
    const copies = new Copies(written, copyOf, limits, writes)
    try {
      if (attempt < attemptsMax) await copies.copy(size, bytesMax)
      else await copies.copyLast(size)
      return copies
    } catch (error) {
      await copies.remove()
      if (attempt === attemptsMax || !isNoRoom(error)) throw error
      const { copiedBytes } = copies
      const wanted = Math.min(size, bytesMax)
      const fits = copiedBytes + (await room.make(wanted - copiedBytes, error))
      bytesMax = fits < wanted ? Math.floor(fits * fittingShare) : wanted
      if (bytesMax === 0) attempt = attemptsMax - 1
    }
  }
}

/** The files before the one that is written: the first ones to go. */
class Room {
  readonly #older: LogFile[]
  freedBytes = 0
  /** What the disk said first. Null: nothing. */
  refusal: string | null = null

  constructor(older: readonly LogFile[]) {
    this.#older = [...older]
  }

  /** Returns how much there is more, at most. */
  async make(bytes: number, because: unknown): Promise<number> {
    this.refusal ??= textOf(because)
    let freed = 0
    while (freed < bytes) {
      const oldest = this.#older.shift()
      if (oldest === undefined) break
      freed += await sizeOf(oldest.path)
      await rm(oldest.path, { force: true })
    }
    this.freedBytes += freed
    return freed
  }
}

function isNoRoom(error: unknown): boolean {
  return isRefusal(error) || systemCodeOf(error) === 'EIO'
}

function keptBytesMax({ filesMax, bytesMax }: LogLimits): number {
  return Math.floor((copiesMax(filesMax) + smallShare) * bytesMax)
}

function copiesMax(filesMax: number): number {
  return Math.max(1, filesMax - 1)
}

/** The last time, for nobody writes any more: what is in files of a full size and half more stays as it is. */
export async function finishLog(
  folder: string,
  task: string,
  kind: LogKind,
  limits: LogLimits,
  writes: CopyWrites = copyWrites,
): Promise<Rotated> {
  const bytes = await sizeOf(await currentLog(folder, task, kind))
  if (bytes <= limits.bytesMax * (1 + smallShare)) {
    return { bytes, isNew: false, droppedBytes: 0, refusal: null }
  }
  // The file that comes next stays empty: it is not to be all that is kept.
  const filesMax = Math.max(2, limits.filesMax)
  return rotateLog(folder, task, kind, { ...limits, filesMax }, writes)
}

/** Files of a full size, and of at most half more, that what was written is copied to. */
class Copies {
  readonly #written: FileHandle
  readonly #pathOf: (at: number) => string
  readonly #limits: LogLimits
  readonly #writes: CopyWrites
  readonly #buffer = Buffer.alloc(bufferBytes)
  readonly #sizes: number[] = []
  /** The last one. */
  #copy: FileHandle | null = null
  /** What is before that is copied, or dropped. */
  #at = 0
  #skipped = 0
  /** The file that is written was emptied already. */
  #isEmptied = false
  /** What the disk said after everything was done for its room. */
  refusal: string | null = null

  constructor(
    written: FileHandle,
    pathOf: (at: number) => string,
    limits: LogLimits,
    writes: CopyWrites,
  ) {
    this.#written = written
    this.#pathOf = pathOf
    this.#limits = limits
    this.#writes = writes
  }

  get sizes(): readonly number[] {
    return this.#sizes
  }

  get copiedBytes(): number {
    return this.#sizes.reduce((sum, bytes) => sum + bytes, 0)
  }

  /** Also of the copies that are one too many. */
  get droppedBytes(): number {
    const surplus = this.#sizes.slice(0, -this.#countMax)
    return surplus.reduce((sum, bytes) => sum + bytes, this.#skipped)
  }

  /** The end of it, as much as the files hold, and what comes meanwhile: of that no more than as much again. */
  async copy(size: number, keptMax: number): Promise<void> {
    this.#skipped = this.#at = Math.max(0, size - keptMax)
    await this.#more()
    const untilBytes = size + keptMax
    while (this.#at < untilBytes && (await this.#step())) {
      // The next piece.
    }
  }

  /** Room for the end of it is made by emptying the file that is written. What the disk refuses even then is lost. */
  async copyLast(size: number): Promise<void> {
    const bytes = Buffer.alloc(Math.min(size, this.#limits.bytesMax, lastBytesMax))
    const end = fstatSync(this.#written.fd).size
    const bytesRead = this.#readAt(bytes, Math.max(0, end - bytes.length))
    // An empty file has room, as a rule.
    await this.#more().catch(() => {})
    ftruncateSync(this.#written.fd)
    this.#isEmptied = true
    this.#skipped = Math.max(0, end - bytesRead)
    try {
      if (this.#copy === null) await this.#more()
      // At once: a reader that finds the file empty begins it anew, and would read this again.
      this.#writes.writeSync(present(this.#copy, 'its copy').fd, bytes.subarray(0, bytesRead))
      this.#sizes[0] = bytesRead
    } catch (error) {
      this.refusal = textOf(error)
      await this.remove()
      this.#sizes.length = 0
      this.#skipped = end
    }
  }

  /** What cannot be read is lost as well. */
  #readAt(bytes: Uint8Array, at: number): number {
    try {
      return readSync(this.#written.fd, bytes, 0, bytes.length, at)
    } catch {
      return 0
    }
  }

  /** What came since goes behind it, and the file that is written is empty. */
  async finish(): Promise<void> {
    const copy = this.#copy
    if (copy === null || this.#isEmptied) return
    const { size } = await this.#written.stat()
    const { bytesMax } = this.#limits
    const left = Math.max(0, size - this.#at - bytesMax)
    this.#skipped += left
    this.#at += left
    // Without a pause in between, for what comes between the last look and the end is lost. Whoever writes faster than this reads
    // would have it read for ever, and nothing else done here.
    const untilBytes = size + bytesMax
    while (this.#at < untilBytes) {
      const bytesRead = readSync(this.#written.fd, this.#buffer, 0, bufferBytes, this.#at)
      if (bytesRead === 0) break
      try {
        this.#writes.writeSync(copy.fd, this.#buffer.subarray(0, bytesRead))
      } catch (error) {
        // It has a new number already: what is copied is not to be in both.
        this.refusal = textOf(error)
        break
      }
      this.#at += bytesRead
    }
    this.#skipped += Math.max(0, fstatSync(this.#written.fd).size - this.#at)
    ftruncateSync(this.#written.fd)
  }

  async close(): Promise<void> {
    const copy = this.#copy
    this.#copy = null
    await copy?.close()
  }

  async remove(): Promise<void> {
    await this.close()
    for (const at of this.#sizes.keys()) await rm(this.#pathOf(at), { force: true })
  }

  /** False: there is nothing more. */
  async #step(): Promise<boolean> {
    const { bytesMax } = this.#limits
    const { size } = await this.#written.stat()
    if (size <= this.#at) return false
    const isFull = (this.#sizes.at(-1) ?? 0) >= bytesMax
    if (isFull && size - this.#at > bytesMax * smallShare) await this.#more()
    const room = bytesMax - (this.#sizes.at(-1) ?? 0)
    const length = Math.min(bufferBytes, room > 0 ? room : bufferBytes)
    const { bytesRead } = await this.#written.read(this.#buffer, 0, length, this.#at)
    if (this.#copy !== null)
      await this.#writes.write(this.#copy, this.#buffer.subarray(0, bytesRead))
    this.#at += bytesRead
    this.#sizes.push((this.#sizes.pop() ?? 0) + bytesRead)
    return bytesRead > 0
  }

  async #more(): Promise<void> {
    await this.close()
    this.#copy = await open(this.#pathOf(this.#sizes.length), 'w', 0o600)
    this.#sizes.push(0)
  }

  get #countMax(): number {
    return copiesMax(this.#limits.filesMax)
  }
}
