/**
 * Snapshots by the clock: each server saves its own, so that the loss of a machine loses no backup. Due times are whole
 * multiples of the interval since the Unix epoch (`24h` is midnight UTC), so that a restart moves none; what was missed
 * is made up for at once. A file has its name only when it is whole, on the disk, and was read back.
 */
import { createReadStream } from 'node:fs'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Timer } from '../../lib/clock.ts'
import { freeBytesOf } from '../../lib/disk-space.ts'
import { syncFolder } from '../../lib/durable-file.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { makeFolder } from '../../lib/make-folder.ts'
import { readArchive } from './archive.ts'

export type SnapshotSchedule = {
  readonly everyMs: number
  /** The newest so many files are kept. */
  readonly retain: number
  readonly folder: string
}

export type ScheduledSnapshotsOptions = {
  readonly schedule: SnapshotSchedule
  /** Of this server, in the names of its files: servers may share a folder. */
  readonly server: string
  /** The state as of now, or later. Rejects while this server cannot tell that it is up to date. */
  readonly archive: (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>
  readonly clock: Clock
  readonly log: Logger
  /** Free bytes of the disk that a folder is on; what the system says unless given. */
  readonly freeBytes?: (folder: string) => Promise<number>
}

export type ScheduledSnapshotStats = {
  readonly saved: number
  readonly failed: number
  /** Of the newest file that is not of the future; null: there is none. */
  readonly newest: { readonly createdMs: number; readonly bytes: number } | null
}

/** After a failure, or sooner where the interval is shorter. */
export const retryMs = 60_000
/** The clock may be set meanwhile: a longer wait is looked at again after this long. */
export const lookMs = 60_000
/** A backup leaves the log this much of a disk they may share. */
export const freeBytesMin = 256 * 2 ** 20
/** How much is written between two looks at the room that is left. */
const lookBytes = 8 * 2 ** 20

type Kept = { readonly name: string; readonly createdMs: number }

export class ScheduledSnapshots {
  readonly #options: ScheduledSnapshotsOptions
  /** What its files begin with, as in `muster-s1-20261122T220000Z-4711.snap`: time of creation, and index of the state. */
  readonly #prefix: string
  readonly #stopping = new AbortController()
  #timer: Timer | null = null
  #underWay: Promise<void> = Promise.resolve()
  #stats: ScheduledSnapshotStats = { saved: 0, failed: 0, newest: null }

  constructor(options: ScheduledSnapshotsOptions) {
    this.#options = options
    this.#prefix = `muster-${options.server}-`
  }

  get everyMs(): number {
    return this.#options.schedule.everyMs
  }

  get stats(): ScheduledSnapshotStats {
    return this.#stats
  }

  /** Returns at once; what fails is in the log. */
  start(): void {
    this.#look(0)
  }

  /** Gives up a save that is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#timer?.cancel()
    await this.#underWay
  }

  #look(delayMs: number): void {
    if (this.#stopping.signal.aborted) return
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      this.#underWay = this.#saveIfDue().then((nextMs) => this.#look(nextMs))
    })
  }

  /** Never rejects. Returns in how many milliseconds to look again. */
  async #saveIfDue(): Promise<number> {
    const { schedule, clock, log } = this.#options
    const { everyMs, folder } = schedule
    try {
      await makeFolder(folder, 0o700)
      const newest = (await this.#kept()).at(-1)
      await this.#note(newest)
      const nowMs = clock.wallMs()
      const dueMs = Math.floor(nowMs / everyMs) * everyMs
      if (newest === undefined || newest.createdMs < dueMs) await this.#save()
      return Math.min(dueMs + everyMs - nowMs, lookMs)
    } catch (error) {
      if (this.#stopping.signal.aborted) return 0
      this.#stats = { ...this.#stats, failed: this.#stats.failed + 1 }
      log.error('the scheduled snapshot failed; it is tried again', {
        folder,
        reason: textOf(error),
      })
      return Math.min(everyMs, retryMs)
    }
  }

  async #save(): Promise<void> {
    const { schedule, archive, clock, log } = this.#options
    const { folder, retain } = schedule
    const { signal } = this.#stopping
    const createdMs = Math.floor(clock.wallMs() / 1_000) * 1_000
    const partial = join(folder, `${this.#prefix}partial`)
    // What a crash left behind.
    await rm(partial, { force: true })
    signal.throwIfAborted()
    try {
      await this.#write(partial, await archive(signal))
      const name = `${this.#prefix}${stampOf(createdMs)}-${await verifiedIndexOf(partial, signal)}.snap`
      await rename(partial, join(folder, name))
      await syncFolder(folder)
      await this.#note({ name, createdMs })
      const saved = this.#stats.saved + 1
      this.#stats = { ...this.#stats, saved }
      log.info('saved a scheduled snapshot', { path: join(folder, name) })
    } finally {
      await rm(partial, { force: true })
    }
    for (const { name } of (await this.#kept()).slice(0, -retain)) {
      await rm(join(folder, name), { force: true })
    }
  }

  async #write(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    const { schedule, freeBytes = freeBytesOf } = this.#options
    let sinceLook = lookBytes
    const file = await open(path, 'wx', 0o600)
    try {
      for await (const chunk of bytes) {
        this.#stopping.signal.throwIfAborted()
        sinceLook += chunk.length
        if (sinceLook >= lookBytes) {
          sinceLook = 0
          const free = await freeBytes(schedule.folder)
          if (free < freeBytesMin) {
            throw new Error(`${free} bytes are free, and ${freeBytesMin} are left to others`)
          }
        }
        await file.writeFile(chunk)
      }
      await file.sync()
    } finally {
      await file.close()
    }
  }

  /**
   * Oldest first. Other files in the folder, and other servers', are left alone, and so is a file of the future, made
   * before the clock was set back: it counts for nothing until its time has come.
   */
  async #kept(): Promise<Kept[]> {
    const { schedule, clock } = this.#options
    const names = await readdir(schedule.folder)
    const nowMs = clock.wallMs()
    return names
      .flatMap((name) => {
        const createdMs = name.startsWith(this.#prefix)
          ? createdMsOf(name.slice(this.#prefix.length))
          : undefined
        return createdMs === undefined || createdMs > nowMs ? [] : [{ name, createdMs }]
      })
      .sort((a, b) => a.createdMs - b.createdMs)
  }

  async #note(kept: Kept | undefined): Promise<void> {
    const newest =
      kept === undefined
        ? null
        : {
            createdMs: kept.createdMs,
            bytes: (await stat(join(this.#options.schedule.folder, kept.name))).size,
          }
    this.#stats = { ...this.#stats, newest }
  }
}

/** Reads the whole file and checks every sum in it. */
async function verifiedIndexOf(path: string, signal: AbortSignal): Promise<number> {
  let index = 0
  for await (const part of readArchive(createReadStream(path))) {
    signal.throwIfAborted()
    if (part.type === 'header') index = part.header.index
  }
  return index
}

/** `20261122T220000Z` */
function stampOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
}

/** Of a name behind its prefix; undefined for what is no such name. */
function createdMsOf(rest: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-\d+\.snap$/.exec(rest)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map(Number)
  return Date.UTC(year, month - 1, day, hour, minute, second)
}
