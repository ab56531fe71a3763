/** An HTTP server that answers as a test says, and remembers what it was asked. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createSecureServer, type ServerOptions } from 'node:https'
import type { Server } from 'node:net'
import type { Test } from 'tap'

export type Asked = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type Reply = {
  readonly status?: number
  readonly json?: unknown
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The connection breaks after what is sent so far. */
  readonly breaks?: boolean
}

export type StandIn = {
  readonly address: string
  readonly asked: readonly Asked[]
}

/**
 * By `METHOD /path`, without the query; what is not listed is 404. Of several replies each is given once, and the last one from
 * then on. Ends with the test.
 */
export async function standIn(
  t: Test,
  replies: Readonly<Record<string, Reply | readonly Reply[]>>,
  tls: ServerOptions | null = null,
): Promise<StandIn> {
  const asked: Asked[] = []
  const given = new Map<string, number>()
  const next = (what: string): Reply => {
    const count = given.get(what) ?? 0
    given.set(what, count + 1)
    const found = [replies[what] ?? []].flat()
    return found[Math.min(count, found.length - 1)] ?? { status: 404, text: 'not here' }
  }
  const answer: RequestListener = (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => void parts.push(part))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      asked.push({ method, url, headers, body: Buffer.concat(parts).toString('utf8') })
      const reply = next(`${method} ${url.split('?')[0]}`)
      response.writeHead(reply.status ?? 200, reply.headers)
      const body = reply.text ?? (reply.json === undefined ? '' : JSON.stringify(reply.json))
      if (reply.breaks === true) response.write(body, () => request.socket.destroy())
      else response.end(body)
    })
  }
  const server: Server = tls === null ? createServer(answer) : createSecureServer(tls, answer)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
      }),
  )
  const bound = server.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  return { address: `${tls === null ? 'http' : 'https'}://127.0.0.1:${port}`, asked }
}
