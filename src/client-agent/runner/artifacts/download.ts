/** Gets an artifact into a file: over HTTP, or from a folder of this machine that the agent's configuration names. */
import { createHash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Checksum } from '../../../domains/jobs/artifact-model.ts'
import { MusterError, systemCodeOf, textOf } from '../../../lib/errors.ts'
import { request as httpRequest } from '../../../lib/http.ts'
import { writeAll, type Writing } from '../../../lib/write-all.ts'

const redirectsMax = 5
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants

export type Received = {
  readonly checksum: Checksum | null
  readonly bytesMax: number
  readonly signal: AbortSignal
}

/** Writes it to an empty file. Rejects with `unavailable` where another try may help. */
export async function receive(
  file: Writing,
  chunks: AsyncIterable<Uint8Array>,
  { checksum, bytesMax, signal }: Received,
): Promise<void> {
  const hash = createHash(checksum?.algorithm ?? 'sha256')
  let bytes = 0
  for await (const chunk of chunks) {
    signal.throwIfAborted()
    bytes += chunk.length
    if (bytes > bytesMax) throw new MusterError('too_large', `it has more than ${bytesMax} bytes`)
    hash.update(chunk)
    await writeAll(file, chunk)
  }
  const found = hash.digest('hex')
  if (checksum === null || checksum.sum === found) return
  const { algorithm, sum } = checksum
  throw new MusterError(
    'unavailable',
    `the checksum is ${algorithm}:${found}, not ${algorithm}:${sum}`,
  )
}

/** `verifies`: the certificate must be the server's. */
type Asking = { readonly verifies: boolean; readonly signal: AbortSignal }

/** After redirects, which get no headers of the job at another server: these may be secrets. */
export async function answerOf(
  source: URL,
  headers: Readonly<Record<string, string>>,
  how: Asking,
): Promise<AsyncIterable<Uint8Array>> {
  let url = source
  for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
    const own = url.origin === source.origin ? headers : {}
    const answer = await requested(url, own, how)
    const { statusCode = 0 } = answer
    const { location } = answer.headers
    if (statusCode === 200) return answer
    answer.destroy()
    if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) {
      throw new MusterError('unavailable', `the server answered ${statusCode}`)
    }
    if (!URL.canParse(location, url.href)) {
      throw new MusterError('unavailable', 'the server redirects to what is no URL')
    }
    url = new URL(location, url)
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new MusterError('unavailable', `the server redirects to ${url.protocol}`)
    }
  }
  throw new MusterError('unavailable', `the server redirects more than ${redirectsMax} times`)
}

async function requested(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { verifies, signal }: Asking,
): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:'
  const request = isSecure ? (await import('node:https')).request : httpRequest
  const answered = Promise.withResolvers<IncomingMessage>()
  try {
    const options = { headers: { ...headers }, signal, agent: false } as const
    const sent = request(url, isSecure ? { ...options, rejectUnauthorized: verifies } : options)
    sent.on('response', answered.resolve)
    sent.on('error', answered.reject)
    sent.end()
    return await answered.promise
  } catch (error) {
    throw new MusterError('unavailable', textOf(error), { cause: error })
  }
}

export type OwnFile = AsyncDisposable & {
  readonly file: FileHandle
  readonly stats: Stats
  readonly path: string
}

/** A file or folder below one of these folders, whatever links lead to it. The caller closes it. */
export async function openOwn(source: URL, folders: readonly string[]): Promise<OwnFile> {
  const asked = fileURLToPath(source)
  if (folders.length === 0) {
    const text = 'the agent gives no files of its own: see client.artifact.file_folders'
    throw new MusterError('permission_denied', text)
  }
  try {
    const file = await open(await realpath(asked), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      // What was opened, and no name that may lead elsewhere by now.
      const path = await readlink(`/proc/self/fd/${file.fd}`)
      const roots = await Promise.all(folders.map((folder) => realpath(folder).catch(() => folder)))
      if (!roots.some((root) => path === root || path.startsWith(`${root}/`))) {
        const text = 'it is in no folder of client.artifact.file_folders'
        throw new MusterError('permission_denied', text)
      }
      const stats = await file.stat()
      if (!stats.isFile() && !stats.isDirectory()) {
        throw new MusterError('invalid_argument', 'it is no file and no folder')
      }
      return { file, stats, path, [Symbol.asyncDispose]: () => file.close() }
    } catch (error) {
      await file.close()
      throw error
    }
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error
    throw new MusterError('unavailable', `there is no ${asked} on this machine`)
  }
}
