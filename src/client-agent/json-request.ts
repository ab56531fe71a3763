/** What a client agent asks the servers on its own account: JSON there, JSON back. */
import { dialectHeader } from '../api/dialect.ts'
import { deadlineOf } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { dialectDefault } from '../lib/dialects.ts'
import { MusterError, systemCodeOf, textOf } from '../lib/errors.ts'
import type { HttpAddress } from '../lib/host-port.ts'
import { bytesOf, headerOf, type Answer, type Ask, type Upstream } from './upstream.ts'

/** Of an answer: everything that one node may have in the catalog fits. */
const answerBytesMax = 64 * 1024 * 1024
const textLengthMax = 300
/** A server that an operator named has this long to answer. */
const probeMs = 5_000

export type JsonRequest = {
  readonly method: 'GET' | 'PUT'
  readonly url: string
  readonly token: string | null
  readonly json?: unknown
  /** What else the request says. */
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

export type JsonReply = {
  readonly status: number
  /** Some rows were left out, for the token may not see them. */
  readonly isFiltered: boolean
  /** Of a status below 300. */
  readonly json: unknown
  /** Of any other. */
  readonly text: string
}

/** Rejects as `Upstream.ask`, and with `unavailable` for what is no JSON. */
export function requestJson(
  upstream: Upstream,
  ask: JsonRequest,
  signal: AbortSignal,
): Promise<JsonReply> {
  return inTime(upstream.clock, ask, (sent) => upstream.ask(sent), signal)
}

/** As `requestJson`, of this one server. */
export function requestJsonOf(
  upstream: Upstream,
  place: HttpAddress,
  ask: JsonRequest,
): Promise<JsonReply> {
  return inTime(upstream.clock, ask, (sent) => upstream.askOne(place, sent))
}

async function inTime(
  clock: Clock,
  ask: JsonRequest,
  send: (sent: Ask) => Promise<Answer>,
  signal?: AbortSignal,
): Promise<JsonReply> {
  const deadline = deadlineOf(clock, ask.timeoutMs, signal)
  try {
    return await read(await send(askOf(ask, deadline.signal)))
  } finally {
    deadline.cancel()
  }
}

/** Rejects where no server answers. A connection that was kept may have ended with the server's last process: then another one is tried. */
export async function probe(upstream: Upstream, place: HttpAddress): Promise<void> {
  const ask = { method: 'GET', url: '/v1/status/peers', token: null, timeoutMs: probeMs } as const
  const asked = () => requestJsonOf(upstream, place, ask)
  const { status, text } = await asked().catch((error: unknown) => {
    if (systemCodeOf(error) !== 'ECONNRESET') throw error
    return asked()
  })
  if (status !== 200) throw new MusterError('unavailable', `it said ${status}: ${text}`)
}

function askOf({ method, url, token, json, headers: more }: JsonRequest, signal: AbortSignal): Ask {
  const body = json === undefined ? null : Buffer.from(JSON.stringify(json))
  const headers = {
    ...more,
    [dialectHeader]: dialectDefault,
    ...(token !== null && { 'x-service-token': token }),
    ...(body !== null && { 'content-length': String(body.length) }),
  }
  return { method, url, headers, body, signal }
}

async function read(answer: Answer): Promise<JsonReply> {
  const { status } = answer
  const text = (await bytesOf(answer, answerBytesMax)).toString('utf8')
  const isFiltered = headerOf(answer, 'x-service-results-filtered-by-acls') === 'true'
  if (status >= 300)
    return { status, isFiltered, json: undefined, text: text.slice(0, textLengthMax) }
  try {
    return {
      status,
      isFiltered,
      json: text === '' ? null : (JSON.parse(text) as unknown),
      text: '',
    }
  } catch (error) {
    throw new MusterError('unavailable', 'a server answered with what is no JSON', { cause: error })
  }
}

/** What a server answered is not what a client sent: if it cannot be read, nobody did anything wrong here. */
export function readAnswer<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    const text = `a server answered with what cannot be read: ${textOf(error)}`
    throw new MusterError('unavailable', text, { cause: error })
  }
}
