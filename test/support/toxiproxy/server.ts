/** Toxiproxy's HTTP API over proxies in this process. */
import { createServer, type IncomingMessage } from 'node:http'
import { seededRandom, type Random } from '../../../src/lib/random.ts'
import { Proxy } from './proxy.ts'
import { ApiError, isRecord } from './toxic.ts'

const bodyBytesMax = 1024 * 1024

export type Toxiproxy = { readonly url: string; stop(): Promise<void> }

/** Serves on a free loopback port. `stop` closes every proxy and connection. */
export async function startToxiproxy(random: Random = seededRandom(1)): Promise<Toxiproxy> {
  const proxies = new Map<string, Proxy>()
  const server = createServer((request, response) => {
    answer(proxies, random, request).then(
      ({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(body === undefined ? undefined : JSON.stringify(body))
      },
      (error: unknown) => {
        const status = error instanceof ApiError ? error.status : 500
        const text = error instanceof Error ? error.message : String(error)
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: text, status }))
      },
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      await Promise.all([...proxies.values()].map((proxy) => proxy.disable()))
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

type Answer = { readonly status: number; readonly body?: unknown }

async function answer(
  proxies: Map<string, Proxy>,
  random: Random,
  request: IncomingMessage,
): Promise<Answer> {
  const method = request.method === 'PATCH' ? 'POST' : (request.method ?? 'GET')
  const path = new URL(request.url ?? '/', 'http://localhost').pathname
  const [root, name, toxics, toxicName, ...more] = path.split('/').slice(1).map(decodeURIComponent)
  const body = method === 'POST' ? await readBody(request) : undefined

  if (more.length > 0) throw new ApiError(404, 'not found')
  if (root === 'version' && name === undefined) return { status: 200, body: { version: '2.12.0' } }
  if (root === 'reset' && method === 'POST') return reset(proxies)
  if (root === 'populate' && method === 'POST') return populate(proxies, random, body)
  if (root !== 'proxies') throw new ApiError(404, 'not found')
  if (name === undefined) {
    if (method === 'GET') return { status: 200, body: Object.fromEntries(proxies) }
    if (method === 'POST') return { status: 201, body: await create(proxies, random, body) }
    throw new ApiError(405, 'method not allowed')
  }

  const proxy = proxies.get(name)
  if (proxy === undefined) throw new ApiError(404, 'proxy not found')
  if (toxics === undefined) {
    if (method === 'GET') return { status: 200, body: proxy }
    if (method === 'POST') {
      await proxy.update(parseProxy(body))
      return { status: 200, body: proxy }
    }
    if (method !== 'DELETE') throw new ApiError(405, 'method not allowed')
    proxies.delete(name)
    await proxy.disable()
    return { status: 204 }
  }
  if (toxics !== 'toxics') throw new ApiError(404, 'not found')
  if (toxicName === undefined) {
    if (method === 'GET') return { status: 200, body: proxy.toxics }
    if (method === 'POST') return { status: 200, body: proxy.addToxic(body) }
    throw new ApiError(405, 'method not allowed')
  }
  if (method === 'GET') return { status: 200, body: proxy.toxic(toxicName) }
  if (method === 'POST') return { status: 200, body: proxy.updateToxic(toxicName, body) }
  if (method !== 'DELETE') throw new ApiError(405, 'method not allowed')
  proxy.removeToxic(toxicName)
  return { status: 204 }
}

async function create(proxies: Map<string, Proxy>, random: Random, body: unknown): Promise<Proxy> {
  const { name, listen = '127.0.0.1:0', upstream, enabled = true } = parseProxy(body)
  if (name === undefined) throw new ApiError(400, 'missing required field: name')
  if (upstream === undefined) throw new ApiError(400, 'missing required field: upstream')
  if (proxies.has(name)) throw new ApiError(409, 'proxy already exists')
  const proxy = new Proxy({ name, listen, upstream }, random)
  if (enabled) await proxy.enable()
  proxies.set(name, proxy)
  return proxy
}

/** Creates what is missing; what exists is moved to the given addresses. */
async function populate(
  proxies: Map<string, Proxy>,
  random: Random,
  body: unknown,
): Promise<Answer> {
  if (!Array.isArray(body)) throw new ApiError(400, 'bad request body: an array of proxies')
  const populated: Proxy[] = []
  for (const item of body as readonly unknown[]) {
    const wanted = parseProxy(item)
    const existing = proxies.get(wanted.name ?? '')
    await existing?.update({ ...wanted, enabled: wanted.enabled ?? true })
    populated.push(existing ?? (await create(proxies, random, item)))
  }
  return { status: 201, body: { proxies: populated } }
}

async function reset(proxies: Map<string, Proxy>): Promise<Answer> {
  for (const proxy of proxies.values()) {
    for (const { name } of proxy.toxics) proxy.removeToxic(name)
    await proxy.enable()
  }
  return { status: 204 }
}

type WantedProxy = { name?: string; listen?: string; upstream?: string; enabled?: boolean }

function parseProxy(body: unknown): WantedProxy {
  if (!isRecord(body)) throw new ApiError(400, 'bad request body: a proxy is a JSON object')
  const wanted: WantedProxy = {}
  for (const field of ['name', 'listen', 'upstream'] as const) {
    const value = body[field]
    if (value === undefined || value === '') continue
    if (typeof value !== 'string') throw new ApiError(400, `${field} must be a string`)
    wanted[field] = value
  }
  const enabled = body['enabled']
  if (enabled === undefined) return wanted
  if (typeof enabled !== 'boolean') throw new ApiError(400, 'enabled must be true or false')
  return { ...wanted, enabled }
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bodyBytesMax) throw new ApiError(413, 'body is too large')
    chunks.push(chunk)
  }
  if (bytes === 0) return {}
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown
  } catch {
    throw new ApiError(400, 'bad request body: not JSON')
  }
}
