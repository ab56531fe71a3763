/**
 * Restoring an archive that a client sends, on any server: first all of it into a temporary file, verified to the
 * last byte; only then the first step of the restore. Until the last one the cluster goes on with its own state.
 */
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { refusalAsUnavailable } from '../../lib/disk-gate.ts'
import { codeOf, MusterError } from '../../lib/errors.ts'
import { readArchive, type ArchiveHeader } from './archive.ts'
import { savePrefix } from './consul-saver.ts'

/** Restores at a time on one server: each may fill the disk. */
export const restoresMax = 1

/** A bound was reached at the leader: try again this often, this far apart. */
const overloadedRetriesMax = 50
const overloadedPauseMs = 200

const filePrefix = 'restore-'
/** What ends with its request, and is left only by a crash. */
const temporaryPrefixes: readonly string[] = [filePrefix, savePrefix]

export type RestorerOptions = {
  /** For archives on their way in or out; a `ConsulSaver` has the files of its own prefix there. */
  readonly folder: string
  /** Whether this server holds the cluster key of that id. */
  readonly holdsClusterKey: (id: string) => boolean
  /** That the cluster runs at. */
  readonly commandVersion: () => number
  readonly clock: Clock
}

export type RestoreStep = { readonly index: number }

/** The restore's steps at the leader, with the rights of the caller who sent the archive. */
export type RestoreSteps = {
  begin(args: { id: string }): Promise<RestoreStep>
  chunk(args: { id: string; number: number; rows: Uint8Array }): Promise<RestoreStep>
  commit(args: { id: string; rows: number; digest: string }): Promise<RestoreStep>
  abort(args: { id: string }): Promise<RestoreStep>
}

export type Restored = { readonly rows: number; readonly index: number }

export class Restorer {
  readonly #options: RestorerOptions
  #running = 0

  constructor(options: RestorerOptions) {
    this.#options = options
  }

  /** Files that a crash left. Called once, before requests come. */
  async clean(): Promise<void> {
    const { folder } = this.#options
    const names = await readdir(folder).catch(() => [])
    for (const name of names) {
      const isLeft = temporaryPrefixes.some((prefix) => name.startsWith(prefix))
      if (isLeft) await rm(join(folder, name), { force: true })
    }
  }

  /** Throws `invalid_argument` for an archive that is not whole, or that this cluster cannot read or open. */
  async restore(archive: AsyncIterable<Uint8Array>, steps: RestoreSteps): Promise<Restored> {
    if (this.#running >= restoresMax) {
      throw new MusterError('overloaded', 'a restore is under way on this server already')
    }
    this.#running++
    const { folder } = this.#options
    const id = randomUUID()
    const path = join(folder, `${filePrefix}${id}`)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const header = await receive(path, archive)
      this.#checkVersion(header)
      this.#checkKeys(header)
      return await this.#run(steps, id, path)
    } catch (error) {
      throw refusalAsUnavailable(error)
    } finally {
      this.#running--
      await rm(path, { force: true })
    }
  }

  /** Rows of a newer version may be such as a server of this cluster cannot read. */
  #checkVersion({ commandVersion }: ArchiveHeader): void {
    const own = this.#options.commandVersion()
    if (commandVersion <= own) return
    throw new MusterError(
      'invalid_argument',
      `the archive was saved at command version ${commandVersion}, this cluster runs at ${own}: once all of its servers run a program that knows ${commandVersion}, and answer, the leader raises it within seconds; restore again then`,
    )
  }

  #checkKeys({ clusterKeys }: ArchiveHeader): void {
    for (const id of clusterKeys) {
      if (this.#options.holdsClusterKey(id)) continue
      throw new MusterError(
        'invalid_argument',
        `the archive's variables need cluster key ${id}, which this cluster does not hold: ` +
          'set server.keyring_key_file to the key file of the cluster it was saved from, restart, and restore again',
      )
    }
  }

  async #run(steps: RestoreSteps, id: string, path: string): Promise<Restored> {
    let committing = false
    try {
      await steps.begin({ id })
      let number = 0
      for await (const part of readArchive(createReadStream(path))) {
        if (part.type === 'header') continue
        if (part.type === 'block') {
          const args = { id, number: number++, rows: part.block }
          await this.#patiently(() => steps.chunk(args))
          continue
        }
        committing = true
        const { rows, digest } = part.trailer
        const { index } = await this.#patiently(() => steps.commit({ id, rows, digest }))
        return { rows, index }
      }
      throw new MusterError('internal', 'an archive ended without its end')
    } catch (error) {
      await steps.abort({ id }).catch(() => {})
      if (committing || codeOf(error) !== 'outcome_unknown') throw error
      throw new MusterError(
        'unavailable',
        'the restore was interrupted and changed nothing: send the archive again',
        {
          cause: error,
        },
      )
    }
  }

  /** Refused for lack of room means nothing was appended, so the same step may be tried again. */
  async #patiently<T>(run: () => Promise<T>): Promise<T> {
    for (let retry = 0; ; retry++) {
      try {
        return await run()
      } catch (error) {
        if (codeOf(error) !== 'overloaded' || retry >= overloadedRetriesMax) throw error
        await delay(this.#options.clock, overloadedPauseMs)
      }
    }
  }
}

/** Writes the stream to a file and verifies it on the way. */
async function receive(path: string, stream: AsyncIterable<Uint8Array>): Promise<ArchiveHeader> {
  const file = await open(path, 'wx', 0o600)
  try {
    const written = async function* () {
      for await (const bytes of stream) {
        await file.writeFile(bytes)
        yield bytes
      }
    }
    let header: ArchiveHeader | null = null
    for await (const part of readArchive(written())) {
      if (part.type === 'header') header = part.header
    }
    if (header === null) throw new MusterError('internal', 'an archive was read without its header')
    return header
  } finally {
    await file.close()
  }
}
