/**
 * `npm run watchers`: very many blocking queries of one prefix at the leader of three servers, and one write a second.
 *
 *   npm run watchers -- [--watchers 10000] [--keys 2000] [--seconds 20] [--gzip]
 *
 * Tells how long it took until all watchers were told of a write, what became of other requests meanwhile, whether
 * there was an election, and what the leader took of memory and processor time.
 */
import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { Cluster } from '../test/support/cluster.ts'
import { metricsOf, usedBy } from '../test/support/server-numbers.ts'
import { fillPrefix, Watchers, writeKey } from '../test/support/watchers.ts'
import type { ProbeReport } from './watchers/probe.ts'

const prefix = 'watched'
const reachedMs = 120_000
const lagSeconds = ['0.01', '0.05', '0.1', '0.5'] as const

function probe(port: number): { readonly stop: () => Promise<ProbeReport> } {
  const program = new URL('./watchers/probe.ts', import.meta.url).pathname
  const running = promisify(execFile)(process.execPath, [program, String(port)])
  return {
    stop: async () => {
      running.child.stdin?.end()
      const { stdout } = await running
      return JSON.parse(stdout) as ProbeReport
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
    await fillPrefix(cluster.http(leader), prefix, keys)
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

    const metricsBefore = await metricsOf(spec.ports.ops)
    const before = watchers.answers
    const probed = probe(spec.ports.http)
    const reached: Promise<number>[] = []
    const startMs = performance.now()
    for (let at = 0; at < seconds; at += 1) {
      const sentMs = performance.now()
      const written = await writeKey(
        cluster.http(leader),
        `${prefix}/${at % keys}`,
        `written ${at}`,
      ).catch((error: unknown) => tell(`write ${at}`, String(error)))
      if (written !== undefined) {
        reached.push(watchers.reached(written).then(() => performance.now() - sentMs))
      }
      await delay(Math.max(0, startMs + (at + 1) * 1_000 - performance.now()))
    }
    const during = await usedBy(pid)
    const all = await Promise.race([Promise.all(reached), delay(reachedMs, null)])
    const report = await probed.stop()
    const after = await usedBy(pid)
    const metricsAfter = await metricsOf(spec.ports.ops)
    const more = (name: string) => metricsAfter(name) - metricsBefore(name)
    const tookMs = performance.now() - startMs
    tell('writes', seconds)
    tell('answers', watchers.answers - before)
    tell(
      'refused or broken',
      JSON.stringify([...watchers.statuses].filter(([status]) => status !== 200)),
    )
    if (all === null) tell('until all were told of a write', `more than ${reachedMs} ms`)
    else {
      const sorted = all.toSorted((left, right) => left - right)
      const [middle, longest] = [sorted[sorted.length >> 1] ?? NaN, sorted.at(-1) ?? NaN]
      tell(
        'until all were told of a write: median, worst',
        `${middle.toFixed(0)} ms, ${longest.toFixed(0)} ms`,
      )
    }
    tell('changes of leaders', more('muster_raft_leader_changes_total'))
    const late = lagSeconds.map(
      (le) => `${le} s: ${more(`muster_eventloop_lag_seconds_bucket{le="${le}"}`)}`,
    )
    tell(
      'timers of the leader late by at most',
      `${late.join(', ')} of ${more('muster_eventloop_lag_seconds_count')}`,
    )
    for (const kind of ['heap_used', 'heap_total', 'external', 'array_buffers']) {
      tell(
        `MiB of ${kind}`,
        (metricsAfter(`muster_process_memory_bytes{kind="${kind}"}`) / 2 ** 20).toFixed(0),
      )
    }
    for (const { name, count: asked, failed, p50, p99, worst } of report) {
      const times = [p50, p99, worst].map((ms) => ms.toFixed(1)).join(', ')
      tell(`${name}: p50, p99, worst ms`, `${times} (${asked} asked, ${failed} failed)`)
    }
    tell(
      'MiB at the end of the writes, at most ever',
      `${during.residentMiB.toFixed(0)}, ${after.peakMiB.toFixed(0)}`,
    )
    const cpu = after.cpuSeconds - parked.cpuSeconds
    tell('processor time of the leader', `${cpu.toFixed(1)} s in ${(tookMs / 1000).toFixed(1)} s`)
    watchers.stop()
  } finally {
    await cluster.stop()
  }
}

await main()
