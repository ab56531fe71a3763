/**
 * The files that a task's output is in: `task.stdout.0`, `task.stdout.1` and so on, of which the last one is written. A task holds
 * its file open over restarts of the agent, so a full one is copied to its number, gets the next number, and is emptied.
 */
import { createReadStream, createWriteStream, ftruncateSync, readSync, writeSync } from 'node:fs'
import { open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import type { LogKind } from '../../domains/tasks/services.ts'

export type LogLimits = { readonly filesMax: number; readonly bytesMax: number }

/** Of the size that a file may have. */
const copiedTimesMax = 2

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

/** Begins a new file where the last one is full. Returns the bytes of what is written to now. */
export async function rotateLog(
  folder: string,
  task: string,
  kind: LogKind,
  limits: LogLimits,
): Promise<number> {
  const files = await logFilesOf(folder, task, kind)
  const last = files.at(-1)
  if (last === undefined) return 0
  const size = await sizeOf(last.path)
  if (size < limits.bytesMax) return size
  const next = join(folder, `${task}.${kind}.${last.number + 1}`)
  const copy = `${last.path}.copy`
  // Of what was written while nothing kept it small, the end is kept.
  const start = Math.max(0, size - copiedTimesMax * limits.bytesMax)
  await pipeline(
    createReadStream(last.path, { start, end: size - 1 }),
    createWriteStream(copy, { mode: 0o600 }),
  )
  await rename(last.path, next)
  await rename(copy, last.path)
  const written = await open(next, 'r+')
  try {
    await moveRest(written, size, last.path)
  } finally {
    await written.close()
  }
  const keptFrom = last.number + 2 - Math.max(1, limits.filesMax)
  for (const { path, number } of files) if (number < keptFrom) await rm(path, { force: true })
  return 0
}

/** What came while the file was copied goes behind the copy; then it is empty. */
async function moveRest(written: FileHandle, from: number, path: string): Promise<void> {
  const copied = await open(path, 'a')
  try {
    const buffer = Buffer.alloc(64 * 1024)
    let at = from
    for (;;) {
      const { bytesRead } = await written.read(buffer, 0, buffer.length, at)
      await copied.write(buffer, 0, bytesRead)
      at += bytesRead
      if (bytesRead < buffer.length) break
    }
    // Without a pause in between, for what comes between the last look and the end is lost.
    for (;;) {
      const bytesRead = readSync(written.fd, buffer, 0, buffer.length, at)
      if (bytesRead === 0) break
      writeSync(copied.fd, buffer, 0, bytesRead)
      at += bytesRead
    }
    ftruncateSync(written.fd)
  } finally {
    await copied.close()
  }
}
