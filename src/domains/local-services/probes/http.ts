/** One HTTP request: 2xx is passing, 429 a warning, all else critical. */
import { request as httpRequest, type IncomingMessage } from '../../../lib/http.ts'
import { request as httpsRequest } from 'node:https'
import type { OwnProbe } from '../definition.ts'
import { outputBytesMax, type CheckStatus } from '../../catalog/model.ts'
import type { ProbeResult } from './probe-result.ts'

type HttpProbe = Extract<OwnProbe, { type: 'http' }>

const redirectsMax = 5

export async function lookByHttp(probe: HttpProbe, signal: AbortSignal): Promise<ProbeResult> {
  let url = probe.url
  for (let redirects = 0; ; redirects += 1) {
    const { status, message, location, body } = await ask(probe, url, signal)
    const next = location === null ? null : URL.parse(location, url)
    const follows = probe.followRedirects && ['GET', 'HEAD'].includes(probe.method)
    const isWeb = next !== null && ['http:', 'https:'].includes(next.protocol)
    if (status >= 300 && status < 400 && follows && isWeb && redirects < redirectsMax) {
      url = next.href
      continue
    }
    const output = `HTTP ${probe.method} ${probe.url}: ${status} ${message} Output: ${body}`
    return { status: statusOf(status), output }
  }
}

function statusOf(status: number): CheckStatus {
  if (status >= 200 && status < 300) return 'passing'
  return status === 429 ? 'warning' : 'critical'
}

type Answer = {
  readonly status: number
  readonly message: string
  readonly location: string | null
  readonly body: string
}

function ask(probe: HttpProbe, url: string, signal: AbortSignal): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const target = new URL(url)
  const options = {
    method: probe.method,
    headers: headersOf(probe, target.origin === new URL(probe.url).origin),
    // A connection of its own, closed behind it: a look must not find yesterday's connection well.
    agent: false,
    rejectUnauthorized: !probe.tlsSkipVerify,
    // Empty is no name at all, which is not what is meant where it is absent.
    ...(probe.tlsServerName !== undefined && { servername: probe.tlsServerName }),
    signal,
  } as const
  const request =
    target.protocol === 'https:' ? httpsRequest(target, options) : httpRequest(target, options)
  request.on('error', reject)
  request.on('response', (response) => {
    start(response).then(
      (body) => {
        resolve({
          status: response.statusCode ?? 0,
          message: response.statusMessage ?? '',
          location: response.headers.location ?? null,
          body,
        })
        request.destroy()
      },
      (error: unknown) => reject(error instanceof Error ? error : new Error(String(error))),
    )
  })
  request.end(probe.body === '' ? undefined : probe.body)
  return promise
}

/** What was written for one server is not sent to another. */
function headersOf(probe: HttpProbe, isSameOrigin: boolean): Record<string, string[]> {
  const headers: Record<string, string[]> = {
    'user-agent': ['Muster Health Check'],
    accept: ['text/plain, text/*, */*'],
  }
  if (!isSameOrigin) return headers
  const written = Map.groupBy(probe.headers, ([name]) => name.toLowerCase())
  for (const [name, pairs] of written) headers[name] = pairs.map(([, value]) => value)
  return headers
}

/** The first bytes of a body; the rest is not waited for. */
async function start(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response) {
    chunks.push(chunk as Buffer)
    size += (chunk as Buffer).length
    if (size >= outputBytesMax) break
  }
  return Buffer.concat(chunks).subarray(0, outputBytesMax).toString('utf8')
}
