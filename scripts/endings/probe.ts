/** Other requests at all servers, from a process of its own, until its input ends: its output is what each took, as JSON. */
import { setTimeout as delay } from 'node:timers/promises'
import { HttpClient } from '../../test/support/http-client.ts'

/** By kind: when each request began, by the wall clock, what it took, and whether it was answered. */
export type Probed = Readonly<
  Record<string, readonly (readonly [atMs: number, ms: number, ok: boolean])[]>
>

/** Between two requests of a kind at a server. */
const everyMs = 50
const requestMs = 30_000

const [token = '', ...ports] = process.argv.slice(2)
const stopping = new AbortController()
process.stdin.on('end', () => stopping.abort())
process.stdin.resume()
const headers = token === '' ? {} : { 'X-Consul-Token': token }
const probed: Record<string, (readonly [number, number, boolean])[]> = {}
const clients: HttpClient[] = []

async function ask(kind: string, http: HttpClient, method: string, path: string): Promise<void> {
  const times = (probed[kind] ??= [])
  while (!stopping.signal.aborted) {
    const [atMs, startMs] = [Date.now(), performance.now()]
    const body = method === 'PUT' ? { body: 'x' } : {}
    const reply = await http
      .request(method, path, { timeoutMs: requestMs, headers, ...body })
      .catch(() => null)
    const ms = performance.now() - startMs
    times.push([atMs, ms, reply !== null && reply.status < 500])
    await delay(Math.max(0, everyMs - ms))
  }
}

/** The first port is that of the leader. */
await Promise.all(
  ports.flatMap((port, at) => {
    const http = new HttpClient(Number(port), 16)
    clients.push(http)
    const where = at === 0 ? 'leader' : 'followers'
    const key = `/v1/kv/probe/${at}`
    return [
      ask(`PUT, ${where}`, http, 'PUT', key),
      ask(`GET, ${where}`, http, 'GET', key),
      ask('GET stale, all', http, 'GET', `${key}?stale`),
    ]
  }),
)
for (const client of clients) client.close()
process.stdout.write(JSON.stringify(probed))
