/** Questions about a cluster's members, by gossip and by Raft, and what an operator does to them. */
import type { Servers } from './servers.ts'
import { eventuallyTrue, type Patience } from './eventually.ts'

type Peer = {
  readonly ID: string
  readonly Node: string
  readonly Address: string
  readonly Voter: boolean
}
/** Who doubted a member last. */
type Suspicion = {
  readonly By: string
  readonly Why: string
  readonly Path: string
  readonly Ended: string | null
}
type Member = {
  readonly Name: string
  readonly Port: number
  readonly Status: string
  readonly Suspicion: Suspicion | null
}

const timeoutMs = 2_000
/** A server starts, joins, catches up and is healthy for a while, on a machine that is busy with others. */
const joining: Patience = { timeoutMs: 60_000 }

/** Newcomers vote soon, and a busy machine's pauses make nobody unhealthy. */
export const patientAutopilot = { ServerStabilizationTime: '1s', LastContactThreshold: '1s' }

/** The Raft configuration as server `at` has it. */
export async function peers(cluster: Servers, at: number): Promise<readonly Peer[]> {
  const path = '/v1/operator/raft/configuration?stale'
  const answer = await cluster.http(at).json('GET', path, { timeoutMs })
  return (answer as { readonly Servers: readonly Peer[] }).Servers
}

/** Names, in order, with blanks between. */
export async function voters(cluster: Servers, at: number): Promise<string> {
  const found = (await peers(cluster, at)).filter(({ Voter }) => Voter).map(({ Node }) => Node)
  return found.toSorted().join(' ')
}

/** Waits until these are the voters, as server `at` sees it. */
export async function votersBecome(
  cluster: Servers,
  at: number,
  names: string,
  patience: Patience = joining,
): Promise<void> {
  await eventuallyTrue(
    `the voters are ${names}`,
    async () => (await voters(cluster, at)) === names,
    patience,
  )
}

/** The member of Raft that has this name, as server `at` has it; an error when there is none. */
export async function peerNamed(cluster: Servers, at: number, name: string): Promise<Peer> {
  const peer = (await peers(cluster, at)).find(({ Node }) => Node === name)
  if (peer === undefined) throw new Error(`${name} is no member`)
  return peer
}

/** The gossip pool as server `at` sees it. */
export async function membersSeenBy(cluster: Servers, at: number): Promise<readonly Member[]> {
  const answer = await cluster.http(at).json('GET', '/v1/agent/members', { timeoutMs })
  return (answer as { readonly Members: readonly Member[] }).Members
}

/** Of a member of the gossip pool, as server `at` sees it. */
export async function statusOf(cluster: Servers, at: number, name: string): Promise<string> {
  const members = await membersSeenBy(cluster, at)
  return members.find(({ Name }) => Name === name)?.Status ?? 'unknown'
}

/** Waits until server `at` sees the member so. */
export async function statusBecomes(
  cluster: Servers,
  at: number,
  name: string,
  status: string,
  patience: Patience = {},
): Promise<void> {
  await eventuallyTrue(
    `${name} is ${status}`,
    async () => (await statusOf(cluster, at, name)) === status,
    patience,
  )
}

export async function forceLeave(cluster: Servers, at: number, node: string): Promise<number> {
  const path = `/v1/agent/force-leave?node=${node}`
  return (await cluster.http(at).request('PUT', path, { timeoutMs })).status
}

/** Out of the Raft configuration; a server that runs would come back. */
export async function removePeer(cluster: Servers, at: number, id: string): Promise<number> {
  const path = `/v1/operator/raft/peer?id=${id}`
  return (await cluster.http(at).request('DELETE', path)).status
}

/** What is left out gets its default. */
export async function setAutopilot(
  cluster: Servers,
  config: Readonly<Record<string, unknown>> = patientAutopilot,
  at = 0,
): Promise<void> {
  const path = '/v1/operator/autopilot/configuration'
  await eventuallyTrue('autopilot is configured', async () => {
    const body = JSON.stringify(config)
    return (await cluster.http(at).json('PUT', path, { body })) === true
  })
}

/** Hands leadership over to that server, if it does not lead already. */
export async function lead(cluster: Servers, at: number): Promise<void> {
  await eventuallyTrue(`server ${at} leads`, async () => {
    if ((await cluster.leader()) === at) return true
    const address = `127.0.0.1:${cluster.server(at).spec.ports.rpc}`
    const path = `/v1/operator/raft/transfer-leadership?address=${address}`
    await cluster.http(at).request('PUT', path)
    return false
  })
}

/** Waits until the leader finds all members well, as an operator does before the next step. */
export async function allHealthy(cluster: Servers, at: number): Promise<void> {
  const path = '/v1/operator/autopilot/health'
  await eventuallyTrue(
    'all servers are healthy',
    async () => (await cluster.http(at).request('GET', path, { timeoutMs })).status === 200,
    joining,
  )
}

/** Joins the pool at another server's gossip port; resolves with what the API says of it. */
export async function join(
  cluster: Servers,
  at: number,
  port: number,
): Promise<{ readonly num_joined: number; readonly error: string }> {
  const path = `/v1/agent/join?address=127.0.0.1:${port}`
  const answer = await cluster.http(at).json('PUT', path)
  return answer as { readonly num_joined: number; readonly error: string }
}
