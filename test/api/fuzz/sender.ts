/** Sends hostile requests over kept-alive connections and takes down what comes back. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { HostileRequest } from './requests.ts'

export type Outcome =
  | {
      readonly type: 'answer'
      readonly status: number
      readonly headers: IncomingHttpHeaders
      readonly body: Buffer
    }
  /** It waits for a change, or streams: the client hung up. */
  | { readonly type: 'open' }
  | { readonly type: 'broken'; readonly why: string }

/** An answer that may wait is not waited for longer than this. */
const openMs = 30
/** Far more than anything takes on a busy machine. */
const hangMs = 30_000

export class Sender {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(port: number) {
    this.#port = port
  }

  send({ method, path, headers, body }: HostileRequest): Promise<Outcome> {
    const mayStayOpen = mayWait(method, path)
    return new Promise((resolve) => {
      const finish = (outcome: Outcome): void => {
        clearTimeout(timer)
        resolve(outcome)
      }
      const hangUp = (): void => {
        finish(
          mayStayOpen ? { type: 'open' } : { type: 'broken', why: `no answer in ${hangMs} ms` },
        )
        sent.destroy()
      }
      const sent = httpRequest({
        host: '127.0.0.1',
        port: this.#port,
        agent: this.#agent,
        method,
        path,
        headers: { ...headers, 'content-length': body?.length ?? 0 },
      })
      const timer = setTimeout(hangUp, mayStayOpen ? openMs : hangMs)
      sent.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', (error) => finish({ type: 'broken', why: `half: ${error.message}` }))
        response.on('end', () => {
          const { statusCode = 0, headers } = response
          finish({ type: 'answer', status: statusCode, headers, body: Buffer.concat(chunks) })
        })
      })
      sent.on('error', (error) => finish({ type: 'broken', why: error.message }))
      sent.end(body ?? undefined)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Blocking queries, profiles over a time, and the log. */
function mayWait(method: string, path: string): boolean {
  if (!['GET', 'HEAD', 'LIST'].includes(method)) return false
  return (
    /[?&](?:index|i%|%|seconds)/i.test(path) || /^\/v1\/(?:agent\/monitor|event\/stream)/.test(path)
  )
}
