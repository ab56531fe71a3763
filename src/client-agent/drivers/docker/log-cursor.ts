/**
 * How far the output of a container is copied: for each stream the time of its last piece, and how many pieces of that time there
 * were. The daemon is asked for what came since, and tells some of it twice.
 *
 * With it is kept how long the file was then. What an agent that was killed had written beyond is cut off, and copied again: so no
 * piece is there twice, unless the files were rotated just then.
 */
import { constants } from 'node:fs'
import { open, readFile, type FileHandle } from 'node:fs/promises'
import { Type } from 'typebox'
import { Check } from 'typebox/schema'
import type { Stream } from './frames.ts'
import type { Piece } from './pieces.ts'

const { O_RDWR, O_CREAT } = constants
/** Pieces of the two streams may be in another order than their times. */
const slackNs = 2_000_000_000n
const nsPerSecond = 1_000_000_000n
/** What is further back than this is not told once more: the clock was set. Daemons were seen to go back by up to 0.6 s. */
const retoldNs = nsPerSecond
const newline = 0x0a
/** Longer than any cursor: each is written over the one before. */
const bytesMax = 512

const Mark = Type.Object({
  atNs: Type.String({ pattern: '^[0-9]{1,20}$' }),
  count: Type.Integer({ minimum: 0 }),
  /** Of the file. */
  inode: Type.Number(),
  size: Type.Integer({ minimum: 0 }),
})
const Kept = Type.Object({ id: Type.String(), stdout: Mark, stderr: Mark })

type Marked = { atNs: bigint; count: number }
type TimedPiece = Piece & { readonly atNs: bigint }
export type LogFiles = Readonly<Record<Stream, FileHandle>>

export class LogCursor {
  readonly #id: string
  readonly #file: FileHandle
  readonly #logs: LogFiles
  readonly #marks: Record<Stream, Marked>

  private constructor(id: string, file: FileHandle, logs: LogFiles, marks: Record<Stream, Marked>) {
    this.#id = id
    this.#file = file
    this.#logs = logs
    this.#marks = marks
  }

  /** Of this container: what the file says of another one is forgotten. `logs`: what is copied to, which may become shorter. */
  static async open(path: string, id: string, logs: LogFiles): Promise<LogCursor> {
    const kept = keptIn(await readFile(path, 'utf8').catch(() => ''))
    const markOf = async (stream: Stream): Promise<Marked> => {
      if (kept?.id !== id) return { atNs: 0n, count: 0 }
      const { atNs, count, inode, size } = kept[stream]
      const stats = await logs[stream].stat()
      if (stats.ino === inode && stats.size > size) await logs[stream].truncate(size)
      return { atNs: BigInt(atNs), count }
    }
    const marks = { stdout: await markOf('stdout'), stderr: await markOf('stderr') }
    const file = await open(path, O_RDWR | O_CREAT, 0o600)
    const cursor = new LogCursor(id, file, logs, marks)
    await cursor.save()
    return cursor
  }

  /** As the API takes it: seconds, with a fraction. */
  get since(): string {
    const { stdout, stderr } = this.#marks
    const lastNs = stdout.atNs > stderr.atNs ? stdout.atNs : stderr.atNs
    const fromNs = lastNs > slackNs ? lastNs - slackNs : 0n
    return `${fromNs / nsPerSecond}.${String(fromNs % nsPerSecond).padStart(9, '0')}`
  }

  /**
   * What is told from `since` on, and was not taken before. Says of each piece whether it is new: when its daemon begins another
   * file it tells the last lines once more, with their times.
   */
  pass(): (piece: TimedPiece) => boolean {
    const passes = { stdout: new Pass(this.#marks.stdout), stderr: new Pass(this.#marks.stderr) }
    return (piece) => passes[piece.stream].isNew(piece)
  }

  /** After what it counts was written. */
  async save(): Promise<void> {
    const shown = async (stream: Stream): Promise<Type.Static<typeof Mark>> => {
      const { atNs, count } = this.#marks[stream]
      const { ino: inode, size } = await this.#logs[stream].stat()
      return { atNs: String(atNs), count, inode, size }
    }
    const kept = { id: this.#id, stdout: await shown('stdout'), stderr: await shown('stderr') }
    await this.#file.write(JSON.stringify(kept).padEnd(bytesMax), 0)
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

/** One stream of one answer. */
class Pass {
  readonly #mark: Marked
  /** Pieces of the mark's time since what came before it. */
  #seen = 0
  #hasTaken = false
  /** Of the mark's time; null: none was seen. */
  #last: Buffer | null = null

  constructor(mark: Marked) {
    this.#mark = mark
  }

  isNew({ atNs, data }: TimedPiece): boolean {
    const mark = this.#mark
    const isSet = this.#hasTaken && atNs < mark.atNs - retoldNs
    if (atNs < mark.atNs && !isSet) {
      this.#seen = 0
      return false
    }
    if (atNs === mark.atNs) {
      // A line has a time of its own, which only its pieces share: this is the last one, told once more.
      if (data.at(-1) === newline && this.#last?.equals(data) === true) return false
      this.#seen += 1
      this.#last = data
      if (this.#seen <= mark.count) return false
      mark.count += 1
    } else {
      mark.atNs = atNs
      mark.count = 1
      this.#seen = 1
      this.#last = data
    }
    this.#hasTaken = true
    return true
  }
}

function keptIn(text: string): Type.Static<typeof Kept> | null {
  try {
    const value: unknown = JSON.parse(text)
    return Check(Kept, value) ? value : null
  } catch {
    return null
  }
}
