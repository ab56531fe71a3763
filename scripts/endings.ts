/**
 * `npm run endings`: what becomes of other requests while very much ends at once, at three servers.
 *
 *   npm run endings -- [--what keys|sessions|tokens|allocations] [--count 200000] [--seconds 600] [--program PATH]
 *
 * keys: a session that holds them is destroyed. sessions: their node is removed. tokens: their parent is deleted. allocations: all
 * ended before, and are collected. Tells what other requests took before and until all is written, whether there was an election,
 * and how late timers of the servers were.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { Cluster } from '../test/support/cluster.ts'
import { metricsOf } from '../test/support/server-numbers.ts'
import {
  createSession,
  createSessions,
  lockKeys,
  registerNode,
  tokenFamily,
} from './endings/fill.ts'
import { finishedWork } from './endings/finished-work.ts'
import type { Probed } from './endings/probe.ts'
import { report, tell } from './endings/report.ts'

const whats = ['keys', 'sessions', 'tokens', 'allocations'] as const
type What = (typeof whats)[number]

const beforeMs = 10_000
/** Of the steps before. */
const stepMs = 600_000
/** The machine comes to rest. */
const restMs = 8_000
const lagSeconds = ['0.01', '0.05', '0.1', '0.5'] as const

/** How to end it, and the token that the probes use. */
type Filled = { readonly end: () => Promise<unknown>; readonly token: string }

async function fill(cluster: Cluster, leader: number, what: What, count: number): Promise<Filled> {
  const http = cluster.http(leader)
  if (what === 'tokens') {
    const { archive, root, parent } = await tokenFamily(count)
    const bootstrapped = await http.json('PUT', '/v1/acl/bootstrap')
    const { SecretID } = bootstrapped as { readonly SecretID: string }
    await http.json('PUT', '/v1/operator/snapshot', {
      body: archive,
      headers: { 'X-Consul-Token': SecretID },
      timeoutMs: stepMs,
    })
    const headers = { 'X-Consul-Token': root }
    const end = () => http.json('DELETE', `/v1/acl/token/${parent}`, { headers, timeoutMs: 60_000 })
    return { end, token: root }
  }
  if (what === 'allocations') {
    const body = Buffer.concat(await finishedWork(count))
    await http.json('PUT', '/v1/operator/snapshot', { body, timeoutMs: stepMs })
    const end = async () => {
      const { status } = await http.request('PUT', '/v1/system/gc')
      if (status !== 200) throw new Error(`nothing is collected: status ${status}`)
    }
    return { end, token: '' }
  }
  await registerNode(http, 'box')
  if (what === 'sessions') {
    await createSessions(http, 'box', count)
    const body = JSON.stringify({ Node: 'box' })
    return {
      end: () => http.json('PUT', '/v1/catalog/deregister', { body, timeoutMs: 60_000 }),
      token: '',
    }
  }
  const session = await createSession(http, 'box')
  await lockKeys(http, session, count)
  return {
    end: () => http.json('PUT', `/v1/session/destroy/${session}`, { timeoutMs: 60_000 }),
    token: '',
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      what: { type: 'string', default: 'keys' },
      count: { type: 'string', default: '200000' },
      seconds: { type: 'string', default: '600' },
      program: { type: 'string' },
    },
  })
  const what = whats.find((one) => one === values.what)
  if (what === undefined) throw new Error(`--what is one of ${whats.join()}`)
  const cluster = await Cluster.start({
    ...(values.program !== undefined && { program: values.program }),
    ...(what === 'tokens' && { config: { acl: { enabled: true } }, writeFirst: false }),
  })
  try {
    const leader = await cluster.waitForLeader()
    const others = cluster.all.filter((at) => at !== leader)
    const servers = [leader, ...others].map((at) => cluster.server(at).spec)
    const { end, token } = await fill(cluster, leader, what, Number(values.count))
    await delay(restMs)
    const metrics = async () => Promise.all(servers.map(({ ports }) => metricsOf(ports.ops)))
    const probe = new URL('./endings/probe.ts', import.meta.url).pathname
    const args = [probe, token, ...servers.map(({ ports }) => String(ports.http))]
    const running = promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 28 })
    await delay(beforeMs)
    const numbersBefore = await metrics()
    const endMs = Date.now()
    await end()
    tell('the ending request took', `${Date.now() - endMs} ms`)
    const { logFile } = cluster.server(leader)
    const lastMs = endMs + Number(values.seconds) * 1_000
    const done = what === 'allocations' ? 'what is over was collected' : 'what followed from'
    const isWritten = async () => (await readFile(logFile, 'utf8')).includes(done)
    while (!(await isWritten()) && Date.now() < lastMs) await delay(200)
    const seconds = ((Date.now() - endMs) / 1_000).toFixed(1)
    tell(
      (await isWritten()) ? 'until all is written' : 'looked on, not all is written',
      `${seconds} s`,
    )
    await delay(5_000)
    const numbers = await metrics()
    running.child.stdin?.end()
    const probed = JSON.parse((await running).stdout) as Probed
    console.log('before: median, p99, worst')
    report(probed, 0, endMs)
    console.log('until all is written, and 5 s')
    report(probed, endMs, Infinity)
    for (const [at, after] of numbers.entries()) {
      const more = (name: string) => after(name) - (numbersBefore[at]?.(name) ?? NaN)
      const lag = 'muster_eventloop_lag_seconds'
      const late = lagSeconds.map((le) => `${le} s: ${more(`${lag}_bucket{le="${le}"}`)}`)
      tell(
        `timers of ${at === 0 ? 'the leader' : 'a follower'} late by at most`,
        `${late.join(', ')} of ${more(`${lag}_count`)}`,
      )
      tell('changes of leaders', String(more('muster_raft_leader_changes_total')))
    }
  } finally {
    for (const at of cluster.all) await cluster.terminate(at)
    await cluster.stop()
  }
}

await main()
