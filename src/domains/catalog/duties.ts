/**
 * What the leader does for the catalog: every agent that is a member has its node and the membership check on it, and
 * the check says what the failure detector says. On election, on each change, and again from time to time, the members
 * are compared with the state; only what differs is written.
 */
import type { Command, Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { Proposed } from '../../rpc/consensus.ts'
import { membersPerEntryMax, type MemberUpdate } from './commands.ts'
import { keyOfName, membershipCheckId, sameRecord, type NodeSpec, type TextPairs } from './model.ts'
import { checkOf, nodeOf, nodesWithId } from './queries.ts'

/** Between two rounds in which nothing changed. */
const roundMs = 5_000
/** After a round that failed. */
const retryMs = 500
/** Between two looks at all nodes of agents. */
const absentLookMs = 10_000
/**
 * A node of an agent that nobody knows as a member: so long it may still be on its way, after a restart of all servers
 * for example. Then its check is critical, and later the node goes.
 */
export const absentCriticalMs = 30_000
export const absentGoneMs = 600_000

export type AgentMember = {
  readonly id: string
  /** As the node is called. */
  readonly name: string
  readonly address: string
  readonly datacenter: string
  readonly meta: TextPairs
  readonly status: 'alive' | 'failed' | 'left'
}

/** Who is a member, as the leader sees it; `server/catalog-members.ts` has its forms. */
export interface AgentMembers {
  /** Everyone known, this agent included, each name once at most as alive. */
  list(): readonly AgentMember[]
  /** Something changed: ask again. Returns the way to stop listening. */
  onChange(listener: () => void): () => void
}

export type MemberDutyContext = {
  readonly members: AgentMembers
  readonly view: () => Reader & { close(): void }
  readonly propose: (command: Command) => Promise<Proposed>
  readonly clock: Clock
  readonly log: Logger
}

const outputs = {
  alive: 'Agent alive and reachable',
  failed: 'Agent not live or unreachable',
  absent: 'Agent is not a member',
} as const

export function startMemberDuty(context: MemberDutyContext): { stop(): Promise<void> } {
  const duty = new MemberDuty(context)
  const running = duty.run()
  return {
    async stop() {
      duty.stop()
      await running
    },
  }
}

class MemberDuty {
  readonly #context: MemberDutyContext
  readonly #unsubscribe: () => void
  /** Since when this leader misses a node among the members, monotonic. */
  readonly #absentSince = new Map<string, number>()
  #absentLookedMs = -Infinity
  #changed = true
  #stopped = false
  #wake: (() => void) | null = null

  constructor(context: MemberDutyContext) {
    this.#context = context
    this.#unsubscribe = context.members.onChange(() => {
      this.#changed = true
      this.#wake?.()
    })
  }

  stop(): void {
    this.#stopped = true
    this.#unsubscribe()
    this.#wake?.()
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      this.#changed = false
      let pauseMs = roundMs
      try {
        await this.#round()
      } catch (error) {
        pauseMs = retryMs
        this.#context.log.warn('a round of members and their nodes failed', {
          error: textOf(error),
        })
        // What changed meanwhile waits for the pause too: the leader may be on its way out.
        this.#changed = false
      }
      if (!this.#changed) await this.#sleep(pauseMs)
    }
  }

  async #round(): Promise<void> {
    const members = distinct(this.#context.members.list())
    const updates = await this.#read((reader) => this.#updates(reader, members))
    for (let at = 0; at < updates.length && !this.#stopped; at += membersPerEntryMax) {
      const part = updates.slice(at, at + membersPerEntryMax)
      const nowMs = Math.floor(this.#context.clock.wallMs())
      await this.#context.propose({ type: 'catalog.members', args: { members: part, nowMs } })
      this.#tell(part)
    }
  }

  async #updates(
    reader: Reader,
    members: ReadonlyMap<string, AgentMember>,
  ): Promise<readonly MemberUpdate[]> {
    const updates: MemberUpdate[] = []
    for (const member of members.values()) {
      const update = updateOf(reader, member)
      if (update !== null) updates.push(update)
    }
    const absent = await this.#absent(reader, members)
    return [...updates, ...absent]
  }

  /** Nodes with an id and the membership check whose agent is no member as far as is known here. */
  async #absent(
    reader: Reader,
    members: ReadonlyMap<string, AgentMember>,
  ): Promise<readonly MemberUpdate[]> {
    const nowMs = this.#context.clock.monotonicMs()
    if (nowMs - this.#absentLookedMs < absentLookMs) return []
    this.#absentLookedMs = nowMs
    const missing = new Set<string>()
    const updates: MemberUpdate[] = []
    for await (const page of nodesWithId(reader)) {
      for (const { createIndex: _created, modifyIndex: _modified, ...node } of page) {
        const key = keyOfName(node.name)
        const check = checkOf(reader, node.name, membershipCheckId)
        if (node.id === null || check === null || members.has(key)) continue
        missing.add(key)
        const sinceMs = this.#absentSince.get(key) ?? nowMs
        this.#absentSince.set(key, sinceMs)
        if (nowMs - sinceMs >= absentGoneMs) {
          updates.push({ type: 'gone', name: node.name, id: node.id })
        } else if (nowMs - sinceMs >= absentCriticalMs && check.status !== 'critical') {
          updates.push({ type: 'present', node, status: 'critical', output: outputs.absent })
        }
      }
    }
    for (const key of this.#absentSince.keys()) if (!missing.has(key)) this.#absentSince.delete(key)
    return updates
  }

  #tell(updates: readonly MemberUpdate[]): void {
    for (const update of updates) {
      const node = update.type === 'gone' ? update.name : update.node.name
      const status = update.type === 'gone' ? 'gone' : update.status
      this.#context.log.info('the catalog follows a member', { node, status })
    }
  }

  async #read<T>(run: (reader: Reader) => Promise<T>): Promise<T> {
    const view = this.#context.view()
    try {
      return await run(view)
    } finally {
      view.close()
    }
  }

  async #sleep(delayMs: number): Promise<void> {
    if (this.#stopped) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#context.clock.setTimer(delayMs, resolve)
    this.#wake = resolve
    await promise
    this.#wake = null
    timer.cancel()
  }
}

/**
 * By name, no id twice: a server that came back under another name is still listed under its old one, and the two would
 * take the id from each other for ever. Whoever lives has name and id; who failed has them before who left.
 */
function distinct(members: readonly AgentMember[]): ReadonlyMap<string, AgentMember> {
  const rank = { alive: 0, failed: 1, left: 2 } as const
  const byName = new Map<string, AgentMember>()
  const ids = new Set<string>()
  const ranked = members.toSorted(
    (one, other) =>
      rank[one.status] - rank[other.status] ||
      (one.name < other.name ? -1 : one.name > other.name ? 1 : 0),
  )
  for (const member of ranked) {
    const key = keyOfName(member.name)
    if (byName.has(key) || ids.has(member.id)) continue
    byName.set(key, member)
    ids.add(member.id)
  }
  return byName
}

/** null: the state says the same. */
function updateOf(reader: Reader, member: AgentMember): MemberUpdate | null {
  const known = nodeOf(reader, member.name)
  if (member.status === 'left') {
    const goes = known !== null && known.id === member.id
    return goes ? { type: 'gone', name: member.name, id: member.id } : null
  }
  const node: NodeSpec = {
    name: known?.name ?? member.name,
    id: member.id,
    address: member.address,
    datacenter: member.datacenter,
    taggedAddresses: [
      ['lan', member.address],
      ['wan', member.address],
    ],
    meta: member.meta,
  }
  const status = member.status === 'alive' ? 'passing' : 'critical'
  const output = outputs[member.status]
  const check = checkOf(reader, member.name, membershipCheckId)
  const stands = known !== null && sameRecord(known, { ...known, ...node })
  if (stands && check?.status === status && check.output === output) return null
  return { type: 'present', node, status, output }
}
