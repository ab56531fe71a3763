/** What the tests of a lost quorum share: the command, a writer that remembers, and questions. */
import { execFile } from 'node:child_process'
import type { Test } from 'tap'
import type { Cluster } from './cluster.ts'
import { eventually } from './eventually.ts'
import { ownProgram, withoutLoader } from './server-process.ts'

type Ended = { readonly code: number; readonly out: string; readonly err: string }

/** By force: ports of servers that are down may be another test's by now. */
export function recover(cluster: Cluster, at: number, ...words: readonly string[]): Promise<Ended> {
  const { configFile } = cluster.server(at)
  const args = ['operator', 'raft', 'recover', '-config', configFile, '-force', ...words]
  return new Promise((resolve, reject) => {
    execFile(...withoutLoader(ownProgram, args), (error, out, err) => {
      if (error !== null && typeof error.code !== 'number') reject(error)
      else resolve({ code: Number(error?.code ?? 0), out, err })
    })
  })
}

/** Writes until told to stop; what was acknowledged, by path. */
export function writing(cluster: Cluster, at: number, prefix: string) {
  const acknowledged = new Map<string, string>()
  const ending = new AbortController()
  const variables = cluster.variables(at, 2_000)
  const done = (async () => {
    for (let i = 0; !ending.signal.aborted; i += 1) {
      const path = `${prefix}/${i}`
      const outcome = await variables.put(path, `value ${i}`)
      if (outcome.type === 'ok') acknowledged.set(path, `value ${i}`)
    }
  })()
  return {
    acknowledged,
    async stop() {
      ending.abort()
      await done
    },
  }
}

export async function assertAllThere(
  t: Test,
  cluster: Cluster,
  at: number,
  written: ReadonlyMap<string, string>,
): Promise<void> {
  const variables = cluster.variables(at)
  let found = 0
  for (const [path, value] of written) {
    // A server that is not ready yet says so; what it then says counts.
    const seen = await eventually(`${path} is read`, async () => {
      const outcome = await variables.read(path)
      return outcome.type === 'ok' ? outcome.seen : undefined
    })
    if (seen.value === value) found += 1
  }
  t.equal(found, written.size, 'every acknowledged write is there')
}

export async function writes(cluster: Cluster, at: number, path: string): Promise<void> {
  await eventually(`server ${at} takes writes`, async () => {
    const outcome = await cluster.variables(at, 5_000).put(path, 'yes')
    return outcome.type === 'ok' ? true : undefined
  })
}

/** In force at the end of the log of a server that is stopped. */
export async function stoppedClusterId(cluster: Cluster, at: number): Promise<string> {
  const { out } = await recover(cluster, at, '-keep-only-self', '-dry-run')
  return /Old cluster +=\s(\S+)/.exec(out)?.[1] ?? ''
}

/** A survivor, and those that die around it. The leader is one that holds every acknowledged write. */
export async function survivorOf(cluster: Cluster) {
  const survivor = await cluster.waitForLeader()
  return { survivor, lost: cluster.all.filter((at) => at !== survivor) }
}

export const gossipOf = (cluster: Cluster, at: number) => {
  return { retry_join: [`127.0.0.1:${cluster.server(at).spec.ports.gossip}`] }
}

/** New servers become voters as soon as they are well: nobody here doubts that they stay so. */
export async function voteSoon(cluster: Cluster, at: number): Promise<void> {
  const { status } = await cluster.http(at).request('PUT', '/v1/operator/autopilot/configuration', {
    body: JSON.stringify({ ServerStabilizationTime: '1s' }),
    timeoutMs: 10_000,
  })
  if (status !== 200) throw new Error(`the configuration of autopilot was answered with ${status}`)
}
