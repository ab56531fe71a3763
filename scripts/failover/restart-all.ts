/**
 * All servers are killed and started again, as after a power cut. What is measured begins with the start of their processes.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { askOnce } from '../bench/connection.ts'
import { httpRequest } from '../bench/system.ts'
import type { Cluster } from '../../test/support/cluster.ts'
import type { Gaps } from './clients.ts'

const probeEveryMs = 20
const probeTimeoutMs = 10_000
const waitMsMax = 60_000
/** Of one transaction. */
const operationsMax = 64
const valueBytes = 200

/** `probesMs`: until a write is accepted by some server; `connectedMs`: until each has accepted one. */
export async function restartAll(cluster: Cluster): Promise<Gaps> {
  await Promise.all(cluster.all.map((at) => cluster.kill(at)))
  const fromMs = performance.now()
  await Promise.all(cluster.all.map((at) => cluster.server(at).start()))
  const ended = new AbortController()
  const bounds = { timeoutMs: probeTimeoutMs, signal: ended.signal }
  /** When each server accepted a write first. */
  const accepted = new Map<number, number>()
  const write = httpRequest('PUT', '/v1/kv/failover/restarted', 'value')
  while (accepted.size < cluster.size) {
    if (performance.now() - fromMs > waitMsMax) throw new Error('not all servers accept writes')
    for (const at of cluster.all.filter((at) => !accepted.has(at))) {
      void askOnce(cluster.server(at).spec.ports.http, write, bounds).then((status) => {
        if (status === 200 && !accepted.has(at)) accepted.set(at, performance.now() - fromMs)
      })
    }
    await delay(probeEveryMs)
  }
  ended.abort()
  const times = [...accepted.values()]
  return { probesMs: Math.min(...times), connectedMs: Math.max(...times), failed: 0 }
}

/** Writes so many keys, many in each transaction. */
export async function fill(cluster: Cluster, keys: number): Promise<void> {
  const leader = await cluster.waitForLeader()
  const Value = Buffer.alloc(valueBytes, 'v').toString('base64')
  for (let first = 0; first < keys; first += operationsMax) {
    const count = Math.min(operationsMax, keys - first)
    const operations = Array.from({ length: count }, (_, n) => ({
      KV: { Verb: 'set', Key: `filled/${first + n}`, Value },
    }))
    const options = { body: JSON.stringify(operations) }
    await cluster.http(leader).json('PUT', '/v1/txn', options)
  }
}
