/** Reads what a task wrote, over all of its files, and goes on with what it writes. */
import { open } from 'node:fs/promises'
import type { FileChunk, LogsOf } from '../../domains/tasks/services.ts'
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError, systemCodeOf } from '../../lib/errors.ts'
import { currentLog, logFilesOf, sizeOf, type LogFile } from './log-files.ts'

const chunkBytesMax = 32 * 1024
/** Between two looks for more. */
const pollMs = 200

type Position = { number: number; offset: number }

export async function* readLogs(
  folder: string,
  { task, kind, origin, offset, follow }: LogsOf,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<FileChunk, void> {
  const files = await logFilesOf(folder, task, kind)
  if (files.length === 0) {
    throw new MusterError('not_found', `task ${JSON.stringify(task)} has no ${kind} here`)
  }
  const at = await positionOf(files, origin, offset)
  while (!signal.aborted) {
    const now = await logFilesOf(folder, task, kind)
    const file = now.find(({ number }) => number >= at.number)
    if (file === undefined) return
    // The one before was removed.
    if (file.number > at.number) Object.assign(at, { number: file.number, offset: 0 })
    const data = await bytesAt(file, at)
    if (data.length > 0) {
      yield { file: nameOf(file), offset: at.offset, data }
      at.offset += data.length
    } else if (now.at(-1) !== file) {
      // What was read of it while it was written may be in several files now, and never in the one that is written.
      const over = now.at(-2) === file ? 0 : Math.max(0, at.offset - (await sizeOf(file.path)))
      Object.assign(at, { number: at.number + 1, offset: over })
    } else if (!follow) return
    else {
      // It was emptied when it got its number.
      const isEmptied = (await sizeOf(file.path)) < at.offset
      if (isEmptied && (await currentLog(folder, task, kind)) === file.path) at.offset = 0
      await delay(clock, pollMs, signal)
    }
  }
}

async function positionOf(
  files: readonly LogFile[],
  origin: LogsOf['origin'],
  offset: number,
): Promise<Position> {
  const sizes = await Promise.all(files.map(({ path }) => sizeOf(path)))
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  let left = origin === 'start' ? Math.min(offset, whole) : Math.max(0, whole - offset)
  for (const [at, { number }] of files.entries()) {
    const size = sizes[at] ?? 0
    if (left < size) return { number, offset: left }
    left -= size
  }
  return { number: files.at(-1)?.number ?? 0, offset: sizes.at(-1) ?? 0 }
}

async function bytesAt({ path }: LogFile, { offset }: Position): Promise<Uint8Array> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (systemCodeOf(error) === 'ENOENT') return null
    throw error
  })
  if (file === null) return new Uint8Array(0)
  try {
    const buffer = new Uint8Array(chunkBytesMax)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset)
    return buffer.slice(0, bytesRead)
  } finally {
    await file.close()
  }
}

function nameOf({ path }: LogFile): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
