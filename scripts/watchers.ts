/**
 * `npm run watchers`: very many blocking queries of one prefix at the leader of three servers, and one write a second.
 *
 *   npm run watchers -- [--watchers 10000] [--keys 2000] [--seconds 20] [--gzip]
 *
 * Tells how long it took until all watchers were told of a write, what became of other requests meanwhile, whether
 * there was an election, and what the leader took of memory and processor time.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Cluster } from '../test/support/cluster.ts'
import { Watchers } from '../test/support/watchers.ts'
import type { ProbeReport } from './watchers/probe.ts'

const prefix = 'watched'
const keysPerTxn = 64
const reachedMs = 120_000
const ticksPerSecond = 100

type Used = { readonly residentMiB: number; readonly peakMiB: number; readonly cpuSeconds: number }

async function usedBy(pid: number): Promise<Used> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return { residentMiB: of('VmRSS'), peakMiB: of('VmHWM'), cpuSeconds: ticks / ticksPerSecond }
}

async function leaderChanges(cluster: Cluster, at: number): Promise<number> {
  const reply = await fetch(`http://127.0.0.1:${cluster.server(at).spec.ports.ops}/metrics`)
  return Number(/^muster_raft_leader_changes_total (\d+)/m.exec(await reply.text())?.[1] ?? NaN)
}

async function fill(cluster: Cluster, at: number, keys: number): Promise<void> {
  const value = Buffer.alloc(32, 'v').toString('base64')
  for (let first = 0; first < keys; first += keysPerTxn) {
    const operations = Array.from({ length: Math.min(keysPerTxn, keys - first) }, (_, more) => ({
      KV: { Verb: 'set', Key: `${prefix}/${String(first + more).padStart(6, '0')}`, Value: value },
    }))
    const reply = await cluster.http(at).request('PUT', '/v1/txn', { body: JSON.stringify(operations) })
    if (reply.status !== 200) throw new Error(`PUT /v1/txn: ${reply.status} ${reply.body.toString()}`)
  }
}

function probe(port: number): { readonly stop: () => Promise<ProbeReport> } {
  const worker = new Worker(new URL('./watchers/probe.ts', import.meta.url), { workerData: { port } })
  return {
    stop: async () => {
      const report = new Promise<ProbeReport>((resolve) => worker.once('message', resolve))
      worker.postMessage('stop')
      const told = await report
      await worker.terminate()
      return told
    },
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      watchers: { type: 'string', default: '10000' },
      keys: { type: 'string', default: '2000' },
      seconds: { type: 'string', default: '20' },
      gzip: { type: 'boolean', default: false },
    },
  })
  const [count, keys, seconds] = [values.watchers, values.keys, values.seconds].map(Number)
  if (count === undefined || keys === undefined || seconds === undefined) throw new Error('numbers')
  const room = 2 * count + 1_000
  const cluster = await Cluster.start({
    config: {
      limits: {
        http_connections_max: room,
        http_max_conns_per_client: room,
        blocking_queries_max: room,
      },
    },
  })
  const tell = (what: string, value: string | number) => console.log(`${what.padEnd(44)} ${value}`)
  try {
    const leader = await cluster.waitForLeader()
    const { spec, pid } = cluster.server(leader)
    if (pid === null) throw new Error('the leader runs')
    await fill(cluster, leader, keys)
    const path = `/v1/kv/${prefix}?recurse`
    const whole = await cluster.http(leader).request('GET', path)
    tell('bytes of one answer', whole.body.length)
    const idle = await usedBy(pid)
    tell('MiB before', idle.residentMiB.toFixed(0))

    const watchers = new Watchers({
      port: spec.ports.http,
      count,
      path: `${path}&wait=10m`,
      ...(values.gzip && { headers: { 'Accept-Encoding': 'gzip' } }),
    })
    await watchers.start()
    await delay(2_000)
    const parked = await usedBy(pid)
    tell('MiB with all of them waiting', parked.residentMiB.toFixed(0))
    tell('KiB for each', (((parked.residentMiB - idle.residentMiB) * 1024) / count).toFixed(1))

    const changes = await leaderChanges(cluster, leader)
    const before = watchers.answers
    const probed = probe(spec.ports.http)
    const reached: Promise<number>[] = []
    const startMs = performance.now()
    for (let at = 0; at < seconds; at += 1) {
      const sentMs = performance.now()
      const key = `${prefix}/${String(at % keys).padStart(6, '0')}`
      const put = await cluster
        .http(leader)
        .request('PUT', `/v1/kv/${key}`, { body: `written ${at}`, timeoutMs: 30_000 })
        .catch((error: unknown) => ({ status: String(error), headers: {} as Record<string, string> }))
      if (put.status !== 200) tell(`write ${at}`, put.status)
      const index = Number(put.headers['x-service-index'] ?? 0)
      reached.push(watchers.reached(index).then(() => performance.now() - sentMs))
      await delay(Math.max(0, startMs + (at + 1) * 1_000 - performance.now()))
    }
    const during = await usedBy(pid)
    const all = await Promise.race([Promise.all(reached), delay(reachedMs, null)])
    const report = await probed.stop()
    const after = await usedBy(pid)
    const changed = (await leaderChanges(cluster, leader)) - changes
    const tookMs = performance.now() - startMs
    tell('writes', seconds)
    tell('answers', watchers.answers - before)
    tell('refused or broken', JSON.stringify([...watchers.statuses].filter(([status]) => status !== 200)))
    if (all === null) tell('until all were told of a write', `more than ${reachedMs} ms`)
    else {
      const sorted = all.toSorted((left, right) => left - right)
      const [middle, longest] = [sorted[sorted.length >> 1] ?? NaN, sorted.at(-1) ?? NaN]
      tell('until all were told of a write: median, worst', `${middle.toFixed(0)} ms, ${longest.toFixed(0)} ms`)
    }
    tell('changes of leaders', changed)
    for (const { name, count: asked, failed, p50, p99, worst } of report) {
      const times = [p50, p99, worst].map((ms) => ms.toFixed(1)).join(', ')
      tell(`${name}: p50, p99, worst ms`, `${times} (${asked} asked, ${failed} failed)`)
    }
    tell('MiB at the end of the writes, at most ever', `${during.residentMiB.toFixed(0)}, ${after.peakMiB.toFixed(0)}`)
    const cpu = after.cpuSeconds - parked.cpuSeconds
    tell('processor time of the leader', `${cpu.toFixed(1)} s in ${(tookMs / 1000).toFixed(1)} s`)
    watchers.stop()
  } finally {
    await cluster.stop()
  }
}

await main()
