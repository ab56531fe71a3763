/**
 * What the leader does for the catalog: every server of the cluster has its node, nodes of agents have the membership check,
 * and the check says whether the agent lives. On election, on each change, and again from time to time, the members are
 * compared with the state; only what differs is written.
 *
 * Two witnesses: a server's check turns critical by gossip and silence on Raft. A client agent registers its node itself; that
 * it failed, left or is unknown by gossip counts once it does not answer the leader either (`witness.ts`).
 */
import type { Reader } from '../../fsm/domain.ts'
import { chunks } from '../../lib/chunks.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import { gossipEndpointOf } from './agent-node-model.ts'
import { updateMembers, membersPerEntryMax, type MemberUpdate } from './commands.ts'
import {
  keyOfName,
  membershipCheckId,
  membershipOutputs,
  sameRecord,
  type NodeRow,
  type NodeSpec,
} from './model.ts'
import { checkOf, nodeOf, nodesWithId } from './queries.ts'
import { Witness, type Answers, type Subject } from './witness.ts'

/** Between two rounds in which nothing changed, and while an agent is doubted. */
const roundMs = 5_000
const doubtMs = 500
/** Between any two rounds: news that come faster are taken together. Longer where looking through the members takes long. */
const gapMs = 100
const gapPerLook = 4
/** After a round that failed. */
const retryMs = 500
/** Between two looks at all nodes of agents. */
const absentLookMs = 10_000
/** Agents that one round asks; the others are asked in later ones. */
export const doubtsPerRoundMax = 256
/**
 * A node of an agent that nobody knows as a member: so long it may still be on its way, after a restart of all servers
 * for example. Then its check is critical, and later the node goes.
 */
export const absentCriticalMs = 30_000
export const absentGoneMs = 600_000

/** A server of the cluster, as Raft has it. */
export type ServerMember = {
  readonly id: string
  /** As the node is called. */
  readonly name: string
  readonly address: string
  readonly datacenter: string
  /** `failed`: gossip says so, and it is silent on Raft. */
  readonly status: 'alive' | 'failed'
}

/** A member of the gossip pool that is no server of the cluster; what is said of it is gossip's word alone. */
export type PoolAgent = {
  readonly id: string
  readonly name: string
  /** Where its gossip is, and what it is called there. */
  readonly endpoint: string
  readonly member: string
  readonly status: 'alive' | 'suspected' | 'failed' | 'left'
}

/** Who is a member, as the leader sees it; `server/known-nodes.ts` has its form. */
export interface KnownNodes {
  servers(): readonly ServerMember[]
  agents(): readonly PoolAgent[]
  readonly answers: Answers
  /** Something changed: ask again. Returns the way to stop listening. */
  onChange(listener: () => void): () => void
}

export type MemberDutyContext = DutyContext & { readonly members: KnownNodes }

/** What becomes of a node. */
type Outcome =
  | { readonly type: 'passing' | 'critical'; readonly output: string }
  | { readonly type: 'gone' }

type Doubt = {
  readonly name: string
  readonly id: string
  readonly subject: Subject
  /** null: nothing. */
  readonly ifSilent: Outcome | null
  readonly ifAnswering: Outcome | null
}

const passing: Outcome = { type: 'passing', output: membershipOutputs.alive }
const failed: Outcome = { type: 'critical', output: membershipOutputs.failed }
const absent: Outcome = { type: 'critical', output: membershipOutputs.absent }
const gone: Outcome = { type: 'gone' }

export function startMemberDuty(context: MemberDutyContext): Running {
  const duty = new MemberDuty(context)
  // Before the first round: what it reads is up to date only while there is a listener.
  const unsubscribe = context.members.onChange(() => rounds.wake())
  const rounds = periodic({
    ...context,
    failure: 'a round of members and their nodes failed',
    everyMs: roundMs,
    retryMs,
    gapMs: () => duty.gapMs,
    round: (signal) => duty.round(signal),
  })
  return {
    stop() {
      unsubscribe()
      return rounds.stop()
    },
  }
}

class MemberDuty {
  readonly #context: MemberDutyContext
  readonly #witness: Witness
  /** Since when this leader misses a node among the members, monotonic. */
  readonly #absentSince = new Map<string, number>()
  #absentLookedMs = -Infinity
  #absentDoubts = false
  /** How long the last look through all members took. */
  #lookedForMs = 0

  constructor(context: MemberDutyContext) {
    this.#context = context
    this.#witness = new Witness(context.members.answers, context.clock)
  }

  get gapMs(): number {
    return Math.max(gapMs, gapPerLook * this.#lookedForMs)
  }

  /** Returns the pause before the next one. */
  async round(signal: AbortSignal): Promise<number> {
    const { members, clock } = this.#context
    const startMs = clock.monotonicMs()
    const servers = members.servers()
    const agents = members.agents()
    const doubts = new Map<string, Doubt>()
    const certain = await onView(this.#context.view, async (reader) => {
      const updates = servers.flatMap((server) => serverUpdate(reader, server) ?? [])
      const serverIds = new Set(servers.map(({ id }) => id))
      const pool = agents.filter(({ id }) => !serverIds.has(id))
      for (const doubt of poolDoubts(reader, pool, serverIds)) doubts.set(doubt.subject.key, doubt)
      for (const doubt of await this.#absent(reader, pool, serverIds)) {
        if (!doubts.has(doubt.subject.key)) doubts.set(doubt.subject.key, doubt)
      }
      return updates
    })
    this.#lookedForMs = clock.monotonicMs() - startMs
    await this.#propose(certain, signal)
    const asked = [...doubts.values()].slice(0, doubtsPerRoundMax)
    if (asked.length === 0) return roundMs
    if (signal.aborted) return 0
    const verdicts = await this.#witness.ask(asked.map(({ subject }) => subject))
    const found = onView(this.#context.view, (reader) =>
      asked.flatMap((doubt) => {
        const verdict = verdicts.get(doubt.subject.key)
        const outcome = verdict === 'silent' ? doubt.ifSilent : doubt.ifAnswering
        const isKnown = verdict === 'silent' || verdict === 'answers'
        return isKnown && outcome !== null ? (agentUpdate(reader, doubt, outcome) ?? []) : []
      }),
    )
    await this.#propose(found, signal)
    return doubtMs
  }

  async #propose(updates: readonly MemberUpdate[], signal: AbortSignal): Promise<void> {
    for (const members of chunks(updates, membersPerEntryMax)) {
      if (signal.aborted) return
      const nowMs = Math.floor(this.#context.clock.wallMs())
      await this.#context.propose(updateMembers, { members, nowMs })
      for (const update of members) {
        const node = update.type === 'gone' ? update.name : update.node.name
        const status = update.type === 'gone' ? 'gone' : update.status
        this.#context.log.info('the catalog follows a member', { node, status })
      }
    }
  }

  /** Nodes with an id and the membership check whose agent is no member as far as is known here. */
  async #absent(
    reader: Reader,
    pool: readonly PoolAgent[],
    serverIds: ReadonlySet<string>,
  ): Promise<readonly Doubt[]> {
    const nowMs = this.#context.clock.monotonicMs()
    if (nowMs - this.#absentLookedMs < absentLookMs && !this.#absentDoubts) return []
    this.#absentLookedMs = nowMs
    const known = new Set(pool.map(({ name, id }) => keyOf(name, id)))
    const missing = new Set<string>()
    const doubts: Doubt[] = []
    for await (const page of nodesWithId(reader)) {
      for (const node of page) {
        const check = checkOf(reader, node.name, membershipCheckId)
        if (node.id === null || check === null || serverIds.has(node.id)) continue
        const key = keyOf(node.name, node.id)
        if (known.has(key)) continue
        missing.add(key)
        const sinceMs = this.#absentSince.get(key) ?? nowMs
        this.#absentSince.set(key, sinceMs)
        const doubt = { name: node.name, id: node.id, subject: subjectOf(node, node.id, null) }
        if (nowMs - sinceMs >= absentGoneMs) {
          doubts.push({ ...doubt, ifSilent: gone, ifAnswering: null })
        } else if (nowMs - sinceMs >= absentCriticalMs && check.status !== 'critical') {
          doubts.push({ ...doubt, ifSilent: absent, ifAnswering: null })
        }
      }
    }
    for (const key of this.#absentSince.keys()) if (!missing.has(key)) this.#absentSince.delete(key)
    this.#absentDoubts = doubts.length > 0
    return doubts
  }
}

/** What gossip says of nodes that agents registered. A member without such a node is nobody here. */
function poolDoubts(
  reader: Reader,
  pool: readonly PoolAgent[],
  serverIds: ReadonlySet<string>,
): readonly Doubt[] {
  const living = new Set(
    pool.filter(({ status }) => status === 'alive').map(({ name, id }) => keyOf(name, id)),
  )
  return pool.flatMap((agent): Doubt[] => {
    const node = nodeOf(reader, agent.name)
    const check = node === null ? null : checkOf(reader, node.name, membershipCheckId)
    if (node === null || node.id === null || check === null || serverIds.has(node.id)) return []
    const isSame = node.id === agent.id
    const subject = subjectOf(node, node.id, isSame ? agent : null)
    const doubt = { name: node.name, id: node.id, subject, ifAnswering: null }
    const isCritical = check.status === 'critical'
    if (!isSame) {
      // Another agent says that the name is its own: the one before may be gone.
      const isReplaced = agent.status === 'alive' && !living.has(keyOf(node.name, node.id))
      return isReplaced && !isCritical ? [{ ...doubt, ifSilent: failed }] : []
    }
    switch (agent.status) {
      case 'alive':
        return isCritical ? [{ ...doubt, ifSilent: null, ifAnswering: passing }] : []
      case 'suspected':
        // Asked already, so that nothing is waited for when gossip is sure.
        return isCritical ? [] : [{ ...doubt, ifSilent: null }]
      case 'failed':
        return isCritical || living.has(keyOf(node.name, node.id))
          ? []
          : [{ ...doubt, ifSilent: failed }]
      case 'left':
        return living.has(keyOf(node.name, node.id)) ? [] : [{ ...doubt, ifSilent: gone }]
    }
  })
}

/** By what it registered; a program that does not register is asked where gossip has it. */
function subjectOf(node: NodeRow, id: string, agent: PoolAgent | null): Subject {
  const key = keyOf(node.name, id)
  const endpoint = gossipEndpointOf(node)
  if (endpoint !== null || agent === null) return { key, endpoint, who: id }
  return { key, endpoint: agent.endpoint, who: agent.member }
}

function keyOf(name: string, id: string): string {
  return `${keyOfName(name)}\0${id}`
}

/** null: the state says the same. What a server told of its node itself stays. */
function serverUpdate(reader: Reader, server: ServerMember): MemberUpdate | null {
  const known = nodeOf(reader, server.name)
  const { id, address, datacenter } = server
  const own: NodeSpec = {
    name: known?.name ?? server.name,
    id,
    address,
    datacenter,
    taggedAddresses: [
      ['lan', address],
      ['wan', address],
    ],
    meta: [],
  }
  const node = known !== null && known.id === id ? specOf(known) : own
  const isAlive = server.status === 'alive'
  const status = isAlive ? 'passing' : 'critical'
  const output = isAlive ? membershipOutputs.alive : membershipOutputs.failed
  const check = checkOf(reader, server.name, membershipCheckId)
  const stands = known !== null && sameRecord(known, { ...known, ...node })
  if (stands && check?.status === status && check.output === output) return null
  return { type: 'present', node, status, output }
}

/** null: another agent has the node by now, or the state says the same. */
function agentUpdate(reader: Reader, { name, id }: Doubt, outcome: Outcome): MemberUpdate | null {
  const known = nodeOf(reader, name)
  if (known === null || known.id !== id) return null
  if (outcome.type === 'gone') return { type: 'gone', name, id }
  const { type: status, output } = outcome
  const check = checkOf(reader, name, membershipCheckId)
  if (check?.status === status && check.output === output) return null
  return { type: 'present', node: specOf(known), status, output }
}

function specOf(row: NodeRow): NodeSpec {
  const { createIndex: _created, modifyIndex: _modified, ...node } = row
  return node
}
