/**
 * Copies the output of a container into the files of its task, from where it was: so nothing is lost while the agent is away, as
 * long as the daemon keeps it.
 */
import { open } from 'node:fs/promises'
import type { IncomingMessage } from '../../../lib/http.ts'
import type { Engine } from './engine.ts'
import { Frames, type Frame, type Stream } from './frames.ts'
import { LogCursor, nsOf, type LogFiles } from './log-cursor.ts'

const headMs = 10_000
/** A line of a terminal that is longer is taken in parts. */
const lineBytesMax = 64 * 1024
/** Of a time before each piece, with the blank behind it. */
const timeLengthMax = 40

export type LogCopyOf = {
  readonly engine: Engine
  readonly id: string
  readonly stdout: string
  readonly stderr: string
  /** Where it is kept how far it came. */
  readonly cursor: string
}

/** What there is; with `follow` also what comes, until the container ends or the signal fires. */
export async function copyLogs(
  { engine, id, stdout, stderr, cursor: path }: LogCopyOf,
  of: { readonly tty: boolean; readonly follow: boolean; readonly signal: AbortSignal },
): Promise<void> {
  await using opened = new AsyncDisposableStack()
  const files: LogFiles = {
    stdout: opened.use(await open(stdout, 'a', 0o600)),
    stderr: opened.use(await open(stderr, 'a', 0o600)),
  }
  const cursor = opened.adopt(await LogCursor.open(path, id, files), (one) => one.close())
  const output = await engine.stream({
    method: 'GET',
    path: `/containers/${id}/logs`,
    query: {
      stdout: 'true',
      stderr: 'true',
      timestamps: 'true',
      follow: String(of.follow),
      since: cursor.since,
    },
    timeoutMs: headMs,
    signal: of.signal,
  })
  await copy(output, of.tty ? new Lines() : new Frames(), files, cursor)
}

async function copy(
  output: IncomingMessage,
  pieces: Pieces,
  files: LogFiles,
  cursor: LogCursor,
): Promise<void> {
  const isNew = cursor.pass()
  const write = async (found: readonly Frame[]): Promise<void> => {
    const news: Record<Stream, Buffer[]> = { stdout: [], stderr: [] }
    for (const { stream, data } of found) {
      const blank = data.subarray(0, timeLengthMax).indexOf(' ')
      const atNs = blank < 0 ? null : nsOf(data.subarray(0, blank).toString('latin1'))
      // What has no time is taken as it is.
      if (atNs === null) news[stream].push(data)
      else if (isNew(stream, atNs)) news[stream].push(data.subarray(blank + 1))
    }
    for (const stream of ['stdout', 'stderr'] as const) {
      if (news[stream].length > 0) await files[stream].appendFile(Buffer.concat(news[stream]))
    }
    await cursor.save()
  }
  for await (const chunk of output as AsyncIterable<Buffer>) await write(pieces.take(chunk))
  await write(pieces.rest())
}

type Pieces = {
  take(chunk: Buffer): readonly Frame[]
  /** At the end. */
  rest(): readonly Frame[]
}

/** Of a terminal, whose output is one stream without frames. */
class Lines implements Pieces {
  #rest: Buffer = Buffer.alloc(0)

  take(chunk: Buffer): readonly Frame[] {
    const bytes = Buffer.concat([this.#rest, chunk])
    const frames: Frame[] = []
    let at = 0
    for (;;) {
      const end = bytes.indexOf(0x0a, at)
      if (end < 0 && bytes.length - at < lineBytesMax) break
      const next = end < 0 ? bytes.length : end + 1
      frames.push({ stream: 'stdout', data: bytes.subarray(at, next) })
      at = next
    }
    this.#rest = bytes.subarray(at)
    return frames
  }

  rest(): readonly Frame[] {
    return this.#rest.length === 0 ? [] : [{ stream: 'stdout', data: this.#rest }]
  }
}
