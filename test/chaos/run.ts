/** One chaos run: a cluster, clients, a nemesis, and the judgement of what the clients saw. */
import { seededRandom } from '../../src/lib/random.ts'
import { checkLinearizability } from '../sim/checkers/linearizability.ts'
import type { Operation } from '../sim/checkers/register.ts'
import { Cluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import { faultNames, heal, runNemesis, type FaultName } from './nemesis.ts'
import { Workload, workloadPrefix, type Created } from './workload.ts'

export type ChaosOptions = {
  readonly durationMs: number
  readonly seed: number
  readonly servers?: number
  /** All unless said. */
  readonly faults?: readonly FaultName[]
  readonly onProgress?: (text: string) => void
}

export type ChaosReport = {
  readonly seed: number
  /** Empty: everything held. */
  readonly failures: readonly string[]
  readonly faults: Readonly<Partial<Record<FaultName, number>>>
  readonly outcomes: Readonly<Record<string, number>>
  readonly operationsPerSecond: number
  readonly history: readonly Operation[]
  /** The servers' log ends, when something failed. */
  readonly logs: string
}

const catchUpTimeoutMs = 30_000

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { durationMs, seed, servers = 3, faults: names = faultNames, onProgress } = options
  const random = seededRandom(seed)
  const cluster = await Cluster.start({ servers, proxies: true, seed })
  const counted: Partial<Record<FaultName, number>> = {}
  const failures: string[] = []
  const workload = new Workload(cluster, seededRandom(seed + 1))
  const startMs = performance.now()
  try {
    await runNemesis(cluster, random, startMs + durationMs, names, {
      onFault(name, heldMs) {
        counted[name] = (counted[name] ?? 0) + 1
        const second = ((performance.now() - startMs) / 1000).toFixed(1)
        onProgress?.(`${second} s: ${name} for ${heldMs} ms, ${workload.operations} operations`)
      },
    })
  } catch (error) {
    failures.push(textOf(error))
  }
  const elapsedSeconds = (performance.now() - startMs) / 1000
  await workload.stop().catch((error: unknown) => failures.push(textOf(error)))
  const { history } = workload.recorded
  const operationsPerSecond = workload.operations / elapsedSeconds
  await heal(cluster).catch((error: unknown) => failures.push(textOf(error)))
  failures.push(...(await judge(cluster, workload)))
  const logs = failures.length > 0 ? await cluster.logs(200) : ''
  await cluster.stop()
  return {
    seed,
    failures,
    faults: counted,
    outcomes: countOutcomes(history),
    operationsPerSecond,
    history,
    logs,
  }
}

/**
 * What did not hold, once the cluster is whole and the workload has stopped: acknowledged writes still there, replicas
 * equal, and all that clients saw explained by one register per key.
 */
export async function judge(cluster: Cluster, workload: Workload): Promise<string[]> {
  const failures: string[] = []
  const { history, created } = workload.recorded
  try {
    await cluster.waitForLeader()
    await workload.finalReads()
    failures.push(...(await lostWrites(cluster, created)))
    failures.push(...(await unequalReplicas(cluster, workload.keys())))
  } catch (error) {
    failures.push(textOf(error))
  }
  const verdict = checkLinearizability(history)
  if (verdict.type === 'violation') failures.push(verdict.explanation)
  if (verdict.type === 'undecided') failures.push(`key ${verdict.key}: the judge gave up`)
  return failures
}

/** Acknowledged creations that are not there, or not as acknowledged. */
async function lostWrites(cluster: Cluster, created: readonly Created[]): Promise<string[]> {
  const lost: string[] = []
  const listed = new Map<string, number>()
  const rows = await cluster.http(0).json('GET', `/v1/vars?prefix=${workloadPrefix}own/&consistent`)
  for (const row of rows as { Path: string; ModifyIndex: number }[]) {
    listed.set(row.Path, row.ModifyIndex)
  }
  for (const { path, index } of created) {
    if (listed.get(path) === index) continue
    lost.push(`lost write: ${path} was acknowledged at index ${index}, found ${listed.get(path)}`)
  }
  return lost
}

/** Once every server has caught up, each by itself must hold the same variables with the same contents. */
async function unequalReplicas(cluster: Cluster, keys: readonly string[]): Promise<string[]> {
  const list = (at: number): Promise<string> =>
    cluster
      .http(at)
      .json('GET', `/v1/vars?prefix=${workloadPrefix}&stale`)
      .then((rows) => JSON.stringify(rows))
  try {
    await eventually(
      'all servers list the same variables',
      async () => {
        const lists = await Promise.all(cluster.all.map(list))
        return new Set(lists).size === 1 ? true : undefined
      },
      { timeoutMs: catchUpTimeoutMs, everyMs: 100 },
    )
  } catch (error) {
    return [`replicas differ: ${textOf(error)}`]
  }
  const differences: string[] = []
  for (const key of keys) {
    const seen = await Promise.all(
      cluster.all.map(async (at) => JSON.stringify(await cluster.variables(at).read(key, 'stale'))),
    )
    if (new Set(seen).size > 1) differences.push(`replicas differ at ${key}: ${seen.join(' ')}`)
  }
  return differences
}

function countOutcomes(history: readonly Operation[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { type, outcome } of history) {
    const name = `${type} ${outcome.type}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${textOf(error.cause)}`
}
