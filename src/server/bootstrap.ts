/**
 * The first start: a server without anything joins the cluster that is there, or begins one with the others.
 *
 * Invariant: a cluster is begun once. Only the server that is first by name among those it sees begins it, only with an
 * empty log, only when it sees as many servers as all of them expect, and only when each of the chosen granted it.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../lib/clock.ts'
import { textOf } from '../lib/errors.ts'
import type { Configuration, Member } from '../raft/core/message.ts'
import type { Raft } from '../raft/raft.ts'
import {
  grantUseMs,
  type GrantAnswer,
  type GrantRequest,
  type BootstrapGrants,
} from './bootstrap-grants.ts'
import type { KnownServer, PeerSource } from './peer-source.ts'
import type { Identity, Self } from './self.ts'

export type BootstrapOptions = {
  readonly self: Self
  readonly region: string
  readonly bootstrapExpect: number
  readonly source: PeerSource
  readonly node: Raft
  readonly grants: BootstrapGrants
  readonly holdsData: () => boolean
  readonly identityAt: (address: string) => Promise<Identity>
  readonly callGrant: (server: Self, request: GrantRequest) => Promise<GrantAnswer>
  readonly clock: Clock
  /** Once, until something else is to be said. */
  readonly say: (level: 'debug' | 'info' | 'warn', text: string) => void
}

/** What to do next. */
export type Found =
  | { readonly type: 'nothing' }
  | { readonly type: 'join'; readonly servers: readonly Self[] }
  | { readonly type: 'begun'; readonly configuration: Configuration }

const nothing: Found = { type: 'nothing' }

/** One attempt. Repeated until there is a configuration. */
export async function findCluster(options: BootstrapOptions): Promise<Found> {
  const { self, source, node, say, bootstrapExpect } = options
  const others = source.servers().filter(({ name }) => name !== self.name)
  const answers = await Promise.all(others.map((server) => askIdentity(options, server)))
  const known = answers.filter((answer) => answer !== null)
  node.introduce(known)
  const settled = withoutSucceeded(
    known.filter(({ holdsData, clusterId }) => holdsData && clusterId !== ''),
  )
  const [cluster] = settled
  if (cluster !== undefined) {
    const other = settled.find(({ clusterId }) => clusterId !== cluster.clusterId)
    if (other === undefined) return { type: 'join', servers: settled }
    say(
      'warn',
      `${cluster.name} and ${other.name} are of different clusters: take one of them away`,
    )
    return nothing
  }
  if (bootstrapExpect === 0) {
    say('info', 'waiting for a server to join: bootstrap_expect is 0')
    return nothing
  }
  if (options.holdsData() || !isFirst(options, others)) return nothing
  if (known.some(({ holdsData }) => holdsData)) return nothing
  const founders = known.filter(
    ({ name }) => others.find((other) => other.name === name)?.expect !== 0,
  )
  const missing = bootstrapExpect - 1 - founders.length
  if (missing > 0) {
    say('info', `waiting for ${missing} more servers to begin`)
    return nothing
  }
  const first = [self, ...founders].toSorted(byName).slice(0, bootstrapExpect)
  return begin(options, first)
}

/** A server of a cluster that was recovered without it is no reason to doubt which one is meant. */
function withoutSucceeded(settled: readonly Identity[]): readonly Identity[] {
  const succeeded = new Set(settled.flatMap(({ predecessors = [] }) => predecessors))
  return settled.filter(({ clusterId }) => !succeeded.has(clusterId))
}

function isFirst(options: BootstrapOptions, others: readonly KnownServer[]): boolean {
  const { self, bootstrapExpect, say } = options
  const founders = others.filter(({ expect }) => expect !== 0)
  const odd = founders.find(({ expect }) => expect !== null && expect !== bootstrapExpect)
  if (odd !== undefined) {
    say(
      'warn',
      `${odd.name} has bootstrap_expect ${odd.expect}, this server ${bootstrapExpect}: no cluster begins until they agree`,
    )
    return false
  }
  const first = founders.find(({ name }) => name < self.name)
  if (first !== undefined) say('debug', `waiting for ${first.name} to begin the cluster`)
  return first === undefined
}

/** With the agreement of all; the log is still empty, as nothing but this writes to it before there are members. */
async function begin(options: BootstrapOptions, chosen: readonly Self[]): Promise<Found> {
  const { self, region, bootstrapExpect, clock, node, grants, holdsData, say } = options
  const request = { candidate: self.id, name: self.name, region, expect: bootstrapExpect }
  const startMs = clock.monotonicMs()
  const answers = await Promise.all(
    chosen.map(async (server): Promise<GrantAnswer> => {
      if (server.id === self.id) return grants.ask(request)
      try {
        return await options.callGrant(server, request)
      } catch (error) {
        return { granted: false, reason: textOf(error) }
      }
    }),
  )
  for (const [at, answer] of answers.entries()) {
    if (answer.granted) continue
    say('info', `${chosen[at]?.name ?? ''} does not agree to begin a cluster: ${answer.reason}`)
    return nothing
  }
  if (clock.monotonicMs() - startMs > grantUseMs || holdsData()) return nothing
  const members = chosen.map(({ id, name, address }): Member => ({
    id,
    name,
    address,
    role: 'voter',
  }))
  const configuration: Configuration = { clusterId: randomUUID(), members }
  await node.bootstrap(configuration)
  return { type: 'begun', configuration }
}

async function askIdentity(
  { identityAt, region, say }: BootstrapOptions,
  { name, address }: KnownServer,
): Promise<Identity | null> {
  let answer: Identity
  try {
    answer = await identityAt(address)
  } catch {
    return null
  }
  if (answer.name !== name) {
    say('warn', `the server at ${address} is called ${answer.name}, not ${name}`)
    return null
  }
  if (answer.region !== region) {
    say('warn', `${name} at ${address} is of region ${answer.region}, not ${region}`)
    return null
  }
  return answer
}

function byName(left: Self, right: Self): number {
  return left.name < right.name ? -1 : 1
}
