/**
 * The files that a task's output is in: `task.stdout.0`, `task.stdout.1` and so on, of which the last one is written. A task holds
 * its file open over restarts of the agent, so a full one is copied to its number, gets the next number, and is emptied. What was written
 * at once and is too much for one file is copied to several.
 */
import { fstatSync, ftruncateSync, readSync } from 'node:fs'
import { link, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogKind } from '../../domains/tasks/services.ts'
import { writeAll, writeAllSync } from '../../lib/write-all.ts'

export type LogLimits = { readonly filesMax: number; readonly bytesMax: number }

/** Of a full file: less than that gets no file of its own. */
const smallShare = 0.5
const bufferBytes = 64 * 1024

export type Rotated = {
  /** Of what is written to now. */
  readonly bytes: number
  /** It is a new file. */
  readonly isNew: boolean
  /** Of what was written since the last look, and the files have no room for. */
  readonly droppedBytes: number
}

export type LogFile = { readonly path: string; readonly number: number }

/** The oldest first. */
export async function logFilesOf(
  folder: string,
  task: string,
  kind: LogKind,
): Promise<readonly LogFile[]> {
  const prefix = `${task}.${kind}.`
  const names = await readdir(folder).catch(() => [])
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

/** Begins a new file where the last one is full. */
export async function rotateLog(
  folder: string,
  task: string,
  kind: LogKind,
  limits: LogLimits,
): Promise<Rotated> {
  const files = await logFilesOf(folder, task, kind)
  const last = files.at(-1)
  if (last === undefined) return { bytes: 0, isNew: false, droppedBytes: 0 }
  const size = await sizeOf(last.path)
  if (size < limits.bytesMax) return { bytes: size, isNew: false, droppedBytes: 0 }
  const pathOf = (number: number): string => join(folder, `${task}.${kind}.${number}`)
  const copyOf = (at: number): string => join(folder, `${task}.${kind}.copy.${at}`)
  const written = await open(last.path, 'r+')
  try {
    const copies = new Copies(written, copyOf, limits)
    try {
      await copies.copy(size)
      const count = copies.sizes.length
      // A reader finds each number at any time.
      const next = pathOf(last.number + count)
      await link(last.path, next).catch(() => rename(last.path, next))
      for (let at = count - 1; at >= 0; at -= 1) await rename(copyOf(at), pathOf(last.number + at))
      await copies.finish()
      const all = [...files, ...copies.sizes.map((_, at) => ({ number: last.number + at }))]
      const keptFrom = last.number + count + 1 - Math.max(1, limits.filesMax)
      const gone = new Set(all.flatMap(({ number }) => (number < keptFrom ? [number] : [])))
      for (const number of gone) await rm(pathOf(number), { force: true })
      return { bytes: 0, isNew: true, droppedBytes: copies.droppedBytes }
    } finally {
      await copies.close()
    }
  } finally {
    await written.close()
  }
}

/** The last time, for nobody writes any more: what is in files of a full size and half more stays as it is. */
export async function finishLog(
  folder: string,
  task: string,
  kind: LogKind,
  limits: LogLimits,
): Promise<Rotated> {
  const bytes = await sizeOf(await currentLog(folder, task, kind))
  if (bytes <= limits.bytesMax * (1 + smallShare)) return { bytes, isNew: false, droppedBytes: 0 }
  // The file that comes next stays empty: it is not to be all that is kept.
  const filesMax = Math.max(2, limits.filesMax)
  return rotateLog(folder, task, kind, { ...limits, filesMax })
}

/** Files of a full size, and of at most half more, that what was written is copied to. */
class Copies {
  readonly #written: FileHandle
  readonly #pathOf: (at: number) => string
  readonly #limits: LogLimits
  readonly #buffer = Buffer.alloc(bufferBytes)
  readonly #sizes: number[] = []
  /** The last one. */
  #copy: FileHandle | null = null
  /** What is before that is copied, or dropped. */
  #at = 0
  #skipped = 0

  constructor(written: FileHandle, pathOf: (at: number) => string, limits: LogLimits) {
    this.#written = written
    this.#pathOf = pathOf
    this.#limits = limits
  }

  get sizes(): readonly number[] {
    return this.#sizes
  }

  /** Also of the copies that are one too many. */
  get droppedBytes(): number {
    const surplus = this.#sizes.slice(0, -this.#countMax)
    return surplus.reduce((sum, bytes) => sum + bytes, this.#skipped)
  }

  /** The end of it, as much as the files hold, and what comes meanwhile: of that no more than as much again. */
  async copy(size: number): Promise<void> {
    const keptMax = Math.floor((this.#countMax + smallShare) * this.#limits.bytesMax)
    this.#skipped = this.#at = Math.max(0, size - keptMax)
    await this.#more()
    const untilBytes = size + keptMax
    while (this.#at < untilBytes && (await this.#step())) {
      // The next piece.
    }
  }

  /** What came since goes behind it, and the file that is written is empty. */
  async finish(): Promise<void> {
    const copy = this.#copy
    if (copy === null) return
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
      writeAllSync(copy.fd, this.#buffer.subarray(0, bytesRead))
      this.#at += bytesRead
    }
    this.#skipped += Math.max(0, fstatSync(this.#written.fd).size - this.#at)
    ftruncateSync(this.#written.fd)
  }

  async close(): Promise<void> {
    await this.#copy?.close()
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
    if (this.#copy !== null) await writeAll(this.#copy, this.#buffer.subarray(0, bytesRead))
    this.#at += bytesRead
    this.#sizes.push((this.#sizes.pop() ?? 0) + bytesRead)
    return bytesRead > 0
  }

  async #more(): Promise<void> {
    await this.close()
    this.#copy = null
    this.#copy = await open(this.#pathOf(this.#sizes.length), 'w', 0o600)
    this.#sizes.push(0)
  }

  get #countMax(): number {
    return Math.max(1, this.#limits.filesMax - 1)
  }
}
