/** Other requests at the watched server, from a process of its own, until its input ends: its output is a report as JSON. */
import { setTimeout as delay } from 'node:timers/promises'
import { HttpClient } from '../../test/support/http-client.ts'

export type ProbeReport = readonly {
  readonly name: string
  readonly count: number
  readonly failed: number
  readonly p50: number
  readonly p99: number
  readonly worst: number
}[]

/** Between two requests of a kind. */
const pauseMs = 25
const requestMs = 30_000

const http = new HttpClient(Number(process.argv[2]), 16)
const stopping = new AbortController()
process.stdin.on('end', () => {
  stopping.abort()
})
process.stdin.resume()

const kinds = [
  { name: 'GET of a key', method: 'GET', path: '/v1/kv/probe/a', body: undefined },
  { name: 'PUT of a key', method: 'PUT', path: '/v1/kv/probe/a', body: 'x' },
  { name: 'status', method: 'GET', path: '/v1/status/leader', body: undefined },
] as const

async function timesOf({ name, method, path, body }: (typeof kinds)[number]) {
  const times: number[] = []
  let failed = 0
  while (!stopping.signal.aborted) {
    const startMs = performance.now()
    const reply = await http
      .request(method, path, { timeoutMs: requestMs, ...(body !== undefined && { body }) })
      .catch(() => null)
    times.push(performance.now() - startMs)
    if (reply === null || reply.status >= 500) failed += 1
    await delay(pauseMs)
  }
  times.sort((left, right) => left - right)
  const at = (part: number) =>
    times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? NaN
  return { name, count: times.length, failed, p50: at(0.5), p99: at(0.99), worst: at(1) }
}

await http.request('PUT', '/v1/kv/probe/a', { body: 'x' }).catch(() => null)
const report: ProbeReport = await Promise.all(kinds.map(timesOf))
process.stdout.write(JSON.stringify(report))
http.close()
