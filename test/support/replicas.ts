/** Whether every server holds the same variables, each asked for what it has itself. */
import type { Cluster } from './cluster.ts'
import { eventually } from './eventually.ts'

export type Listed = { readonly Path: string; readonly ModifyIndex: number }

/** Waits until all servers list the same under `prefix`, and returns that. */
export async function equalReplicas(
  cluster: Cluster,
  prefix: string,
  timeoutMs = 60_000,
): Promise<readonly Listed[]> {
  return eventually(
    'all servers hold the same variables',
    async () => {
      const lists = await Promise.all(cluster.all.map((at) => listAt(cluster, at, prefix)))
      const [first = ''] = lists
      if (lists.some((list) => list !== first)) return undefined
      return JSON.parse(first) as readonly Listed[]
    },
    { timeoutMs, everyMs: 200 },
  )
}

async function listAt(cluster: Cluster, at: number, prefix: string): Promise<string> {
  const reply = await cluster
    .http(at)
    .request('GET', `/v1/vars?prefix=${prefix}&stale`, { timeoutMs: 20_000 })
  if (reply.status !== 200)
    throw new Error(`server ${at}: ${reply.status} ${reply.body.toString()}`)
  return reply.body.toString()
}
