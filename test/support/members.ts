/** Questions about a cluster's members, by gossip and by Raft. */
import type { Cluster } from './cluster.ts'

type Peer = { readonly ID: string; readonly Node: string; readonly Voter: boolean }
type Member = { readonly Name: string; readonly Status: string }

const timeoutMs = 2_000

/** The Raft configuration as server `at` has it. */
export async function peers(cluster: Cluster, at: number): Promise<readonly Peer[]> {
  const path = '/v1/operator/raft/configuration?stale'
  const answer = await cluster.http(at).json('GET', path, { timeoutMs })
  return (answer as { readonly Servers: readonly Peer[] }).Servers
}

/** Names, in order, with blanks between. */
export async function voters(cluster: Cluster, at: number): Promise<string> {
  const found = (await peers(cluster, at)).filter(({ Voter }) => Voter).map(({ Node }) => Node)
  return found.toSorted().join(' ')
}

/** Of a member of the gossip pool, as server `at` sees it. */
export async function statusOf(cluster: Cluster, at: number, name: string): Promise<string> {
  const answer = await cluster.http(at).json('GET', '/v1/agent/members', { timeoutMs })
  const { Members } = answer as { readonly Members: readonly Member[] }
  return Members.find(({ Name }) => Name === name)?.Status ?? 'unknown'
}

export async function forceLeave(cluster: Cluster, at: number, node: string): Promise<number> {
  const path = `/v1/agent/force-leave?node=${node}`
  return (await cluster.http(at).request('PUT', path, { timeoutMs })).status
}
