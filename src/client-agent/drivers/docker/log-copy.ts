/**
 * Copies the output of a container into the files of its task, from where it was: so nothing is lost while the agent is away, as
 * long as the daemon keeps it.
 */
import { open } from 'node:fs/promises'
import { nothing } from '../../../lib/async.ts'
import type { IncomingMessage } from '../../../lib/http.ts'
import type { Engine } from './engine.ts'
import { Frames, type Stream } from './frames.ts'
import { LogCursor, type LogFiles } from './log-cursor.ts'
import { pieceOf, type Piece } from './pieces.ts'
import { Terminal } from './terminal.ts'

const headMs = 10_000

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
  of: {
    readonly tty: boolean
    readonly follow: boolean
    readonly signal: AbortSignal
    /** Some of it came. */
    readonly heard?: () => void
  },
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
  await copy(output, of.tty ? new Terminal() : new Framed(), files, cursor, of.heard)
}

async function copy(
  output: IncomingMessage,
  pieces: Pieces,
  files: LogFiles,
  cursor: LogCursor,
  heard: () => void = nothing,
): Promise<void> {
  const isNew = cursor.pass()
  const write = async (found: readonly Piece[]): Promise<void> => {
    const news: Record<Stream, Buffer[]> = { stdout: [], stderr: [] }
    for (const { stream, atNs, data } of found) {
      // What has no time is taken as it is.
      if (atNs === null || isNew({ stream, atNs, data })) news[stream].push(data)
    }
    for (const stream of ['stdout', 'stderr'] as const) {
      if (news[stream].length > 0) await files[stream].appendFile(Buffer.concat(news[stream]))
    }
    await cursor.save()
  }
  for await (const chunk of output as AsyncIterable<Buffer>) {
    heard()
    await write(pieces.take(chunk))
  }
  await write(pieces.rest())
}

type Pieces = {
  /** Those that are whole now. */
  take(chunk: Buffer): readonly Piece[]
  /** At the end. */
  rest(): readonly Piece[]
}

class Framed implements Pieces {
  readonly #frames = new Frames()

  take(chunk: Buffer): readonly Piece[] {
    return this.#frames.take(chunk).map(pieceOf)
  }

  /** A frame that broke off is told again. */
  rest(): readonly Piece[] {
    return []
  }
}
