/**
 * Docker's Engine API over its Unix socket. Each question has its time and each answer its size, for the daemon is another
 * program: one that hangs holds up what asks it, and nothing else.
 *
 * The version of the API is the one below, or the nearest that the daemon has.
 */
import type { Duplex } from 'node:stream'
import { deadlineOf, onAbort, within } from '../../../lib/async.ts'
import type { Clock } from '../../../lib/clock.ts'
import { MusterError, systemCodeOf, textOf } from '../../../lib/errors.ts'
import { gather } from '../../../lib/gather.ts'
import { request, type ClientRequest, type IncomingMessage } from '../../../lib/http.ts'
import { ErrorAnswer, parsed, Version } from './answers.ts'

const apiVersion = '1.41'
const askMs = 10_000
const answerBytesMax = 4 * 1024 * 1024
const errorLengthMax = 500

export type Question = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** After the version of the API. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** To the end of an answer, or to the begin of one that streams. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

export class Engine {
  readonly socketPath: string
  readonly #clock: Clock
  /** Of the paths; null: not known yet. */
  #prefix: string | null = null

  constructor(socketPath: string, clock: Clock) {
    this.socketPath = socketPath
    this.#clock = clock
  }

  /** What the daemon is. Asks it, whatever is known already. */
  async version(timeoutMs = askMs): Promise<Version> {
    const answer = await this.#json({ method: 'GET', path: '/version', timeoutMs }, '')
    const version = parsed(Version, answer)
    const { ApiVersion: newest, MinAPIVersion: oldest = '1.24' } = version
    this.#prefix = `/v${isBelow(newest, apiVersion) ? newest : isBelow(apiVersion, oldest) ? oldest : apiVersion}`
    return version
  }

  /**
   * The JSON of the answer; undefined for an empty one. Rejects with `unavailable` where the daemon cannot be reached, does not
   * answer in time or fails, and with `invalid_argument`, `not_found` or `conflict` where it refuses.
   */
  async ask(question: Question): Promise<unknown> {
    return this.#json(question, await this.#version())
  }

  /** The same, of an answer that goes on and on: the caller reads or destroys it. */
  async stream(question: Question): Promise<IncomingMessage> {
    const prefix = await this.#version()
    const late = new AbortController()
    const { timeoutMs = askMs } = question
    try {
      const asked = this.#send(question, prefix, late.signal).then(refused)
      const answer = await within(asked, this.#clock, timeoutMs)
      if (answer !== null) return answer
      late.abort()
      throw new Error('it is late')
    } catch (error) {
      throw this.#failure(error, late.signal.aborted, timeoutMs)
    }
  }

  /** A connection that both sides write to, after the daemon has left HTTP. */
  async converse(question: Question): Promise<Duplex> {
    const prefix = await this.#version()
    const { timeoutMs = askMs } = question
    const deadline = deadlineOf(this.#clock, timeoutMs)
    const headers = { connection: 'Upgrade', upgrade: 'tcp' }
    const sent = this.#request({ ...question, headers }, prefix, undefined)
    const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
    onAbort(deadline.signal, () => void sent.destroy(new Error('it is late')))
    sent.once('upgrade', (_answer, socket, head) => {
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    sent.once('response', (answer: IncomingMessage) => {
      refused(answer).then(() => {
        answer.destroy()
        reject(new MusterError('unavailable', 'Docker did not open a connection for a command'))
      }, reject)
    })
    sent.once('error', reject)
    try {
      return await promise
    } catch (error) {
      throw this.#failure(error, deadline.isLate, timeoutMs)
    } finally {
      deadline.cancel()
    }
  }

  async #version(): Promise<string> {
    if (this.#prefix === null) await this.version()
    return this.#prefix ?? ''
  }

  async #json(question: Question, prefix: string): Promise<unknown> {
    const { timeoutMs = askMs } = question
    const deadline = deadlineOf(this.#clock, timeoutMs)
    try {
      const answer = await refused(await this.#send(question, prefix, deadline.signal))
      const text = await textIn(answer)
      return text.trim() === '' ? undefined : (JSON.parse(text) as unknown)
    } catch (error) {
      throw this.#failure(error, deadline.isLate, timeoutMs)
    } finally {
      deadline.cancel()
    }
  }

  #send(question: Question, prefix: string, late: AbortSignal): Promise<IncomingMessage> {
    const { signal } = question
    const sent = this.#request(question, prefix, signal && AbortSignal.any([signal, late]), late)
    return new Promise((resolve, reject) => {
      sent.once('response', resolve)
      sent.once('error', reject)
    })
  }

  #request(
    { method, path, query = {}, json, headers = {} }: Question,
    prefix: string,
    signal: AbortSignal | undefined,
    late?: AbortSignal,
  ): ClientRequest {
    const search = new URLSearchParams(query).toString()
    const body = json === undefined ? null : Buffer.from(JSON.stringify(json))
    const bound = signal ?? late
    const sent = request({
      socketPath: this.socketPath,
      agent: false,
      method,
      path: `${prefix}${path}${search === '' ? '' : `?${search}`}`,
      headers: {
        host: 'docker',
        ...headers,
        ...(body === null
          ? method === 'GET'
            ? {}
            : { 'content-length': '0' }
          : { 'content-type': 'application/json', 'content-length': String(body.length) }),
      },
      ...(bound !== undefined && { signal: bound }),
    })
    sent.end(body ?? undefined)
    return sent
  }

  /** In words, and with a code. */
  #failure(error: unknown, isLate: boolean, timeoutMs: number): MusterError {
    if (error instanceof MusterError) return error
    if (isLate) {
      const text = `Docker did not answer at ${this.socketPath} within ${timeoutMs / 1_000}s`
      return new MusterError('unavailable', text, { cause: error })
    }
    const reason = reasons[systemCodeOf(error)] ?? textOf(error)
    const text = `${this.socketPath} cannot be reached: ${reason}`
    return new MusterError('unavailable', text, { cause: error })
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such socket',
  EACCES: 'permission denied',
  ECONNREFUSED: 'nothing listens there',
  ABORT_ERR: 'it is not wanted any more',
}

/** Rejects with what Docker said where it is an error. */
async function refused(answer: IncomingMessage): Promise<IncomingMessage> {
  const { statusCode: status = 500 } = answer
  if (status < 400) return answer
  const text = await textIn(answer)
  const said = messageOf(text).slice(0, errorLengthMax).replaceAll(/\s+/g, ' ').trim()
  throw new MusterError(codes[status] ?? 'unavailable', `Docker said: ${said || status}`)
}

const codes: Readonly<Record<number, 'invalid_argument' | 'not_found' | 'conflict'>> = {
  400: 'invalid_argument',
  401: 'invalid_argument',
  403: 'invalid_argument',
  404: 'not_found',
  409: 'conflict',
}

function messageOf(text: string): string {
  try {
    return parsed(ErrorAnswer, JSON.parse(text)).message
  } catch {
    return text
  }
}

async function textIn(answer: IncomingMessage): Promise<string> {
  const bytes = await gather(answer, answerBytesMax)
  if (bytes !== null) return bytes.toString('utf8')
  throw new MusterError('unavailable', `Docker answered with over ${answerBytesMax} bytes`)
}

/** Of versions such as `1.41`. */
function isBelow(left: string, right: string): boolean {
  const [major = 0, minor = 0] = left.split('.').map(Number)
  const [majorRight = 0, minorRight = 0] = right.split('.').map(Number)
  return major < majorRight || (major === majorRight && minor < minorRight)
}
