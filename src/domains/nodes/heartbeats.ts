/**
 * The leader's word on who lives. A node is down when its heartbeats are missed; or at once, when gossip says that its machine
 * failed and no server has an uplink over which its agent answers. So neither witness is believed alone: a node whose agent
 * answers is never down for what gossip says, and a killed machine is not waited for. An agent that said that it stops, but not
 * that it leaves, has until its heartbeats are missed: it may be upgraded, and its tasks run meanwhile.
 *
 * A node that runs what may be cut off for a while is disconnected instead, until the longest such time is over. Heard again, it is
 * initializing until its agent has said what became of its work.
 *
 * Deadlines are kept by the leader alone. A new one gives every node that is not down a long time once, for nobody can have told
 * it who was heard.
 */
import { delay } from '../../lib/async.ts'
import { chunks } from '../../lib/chunks.ts'
import { DeadlineWheel } from '../../lib/deadline-wheel.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { Provided } from '../../rpc/services.ts'
import type { knownNodes } from '../catalog/services.ts'
import type { DutyContext } from '../duty.ts'
import { settledWorkloadsVersion } from '../evaluations/model.ts'
import { onView } from '../host.ts'
import type { appliedCommands } from '../sessions/services.ts'
import { purgeNode, registerNode, updateStatus, type StatusUpdate } from './commands.ts'
import { silentMsMax, ttlMsOf, type HeartbeatSettings } from './heartbeat-times.ts'
import { isAway, nodesPerEntryMax, type NodeRow, type NodeStatus } from './model.ts'
import type { NodeWork } from './node-work.ts'
import { nodesWithPrefix } from './queries.ts'
import type { ReportReply } from './uplinks.ts'

/** How late a deadline may be noticed. */
const sliceMs = 250
/** Nodes whose agents one round asks for. */
const lookedMax = 16 * nodesPerEntryMax
/** Between two rounds in which nobody is doubted, and while somebody is. */
const roundMs = 5_000
const doubtMs = 500
/** Between any two: gossip's news that come faster are taken together. Longer where a look through the members takes long. */
const gapMs = 200
const gapPerLook = 10
const retryMs = 500
/**
 * Gossip's word and the silence of all servers must both last so long: an agent may be between two uplinks. A suspicion counts too,
 * later, for on a busy machine gossip takes its time to confirm it.
 */
const lastsMs = { failed: 1_000, suspected: 5_000 } as const
/** One that is back has so long to say what became of its work before it takes new work all the same. */
const tellMs = 15_000

/** Which of these nodes' agents answer over an uplink that some server holds. */
export type Reach = (ids: readonly string[]) => Promise<{
  readonly answering: ReadonlySet<string>
  /** Whose agents said that they stop. */
  readonly stopped: ReadonlySet<string>
  /** A server that may live did not answer: it may hold the uplinks of others. */
  readonly isUnsure: boolean
}>

/** A node as gossip has lost it: for how long that must last, and whether its agent said that it leaves. */
type LostMember = { readonly lastsMs: number; readonly left: boolean }

export type HeartbeatsContext = DutyContext & {
  readonly settings: HeartbeatSettings
  readonly members: Provided<typeof knownNodes>
  readonly applied: Provided<typeof appliedCommands>
  readonly reach: Reach
  readonly work: NodeWork
}

/** Where reports go: to the duty of this server while it leads. */
export class Heartbeats {
  #duty: HeartbeatDuty | null = null

  start(context: HeartbeatsContext): Running {
    const duty = new HeartbeatDuty(context)
    this.#duty = duty
    return {
      stop: () => {
        this.#duty = null
        return duty.stop()
      },
    }
  }

  /** Throws `not_leader`. */
  heard(ids: readonly string[]): ReportReply {
    if (this.#duty !== null) return this.#duty.heard(ids)
    throw new MusterError('not_leader', 'this server keeps no deadlines of nodes')
  }

  /** Their agents speak: those that are disconnected are so no more once this resolves. */
  async back(ids: readonly string[]): Promise<void> {
    await this.#duty?.back(ids)
  }
}

/** What is kept of one in memory; a whole row is such. */
type Known = Pick<NodeRow, 'id' | 'status' | 'disconnectedUntilMs'>

type Silent = Pick<StatusUpdate, 'id' | 'cause' | 'left'>

class HeartbeatDuty implements Running {
  readonly #context: HeartbeatsContext
  readonly #stopping = new AbortController()
  readonly #wheel: DeadlineWheel<string>
  /** As the state has them. */
  readonly #known = new Map<string, NodeStatus>()
  #isComplete = false
  /** Those that came back from it, and since when they are initializing. */
  readonly #backMs = new Map<string, number>()
  /** Heard, and not ready as the state has it. */
  readonly #returned = new Set<string>()
  /** Whose deadline passed. */
  readonly #missed = new Set<string>()
  /** Whom gossip calls failed or suspects, and since when no server reaches them. */
  readonly #unreached = new Map<string, number>()
  #lookedForMs = 0
  readonly #unsubscribe: readonly (() => void)[]
  readonly #rounds: ReturnType<typeof periodic>
  readonly #scanning: Promise<void>

  constructor(context: HeartbeatsContext) {
    const { clock, applied, members } = context
    this.#context = context
    this.#wheel = new DeadlineWheel<string>({
      clock,
      sliceMs,
      keyOf: (id) => id,
      batchMax: nodesPerEntryMax,
      onDue: (ids) => {
        for (const id of ids) this.#missed.add(id)
        this.#rounds.wake()
      },
    })
    this.#rounds = periodic({
      clock,
      log: context.log,
      failure: 'a look at the heartbeats of nodes failed',
      everyMs: roundMs,
      retryMs,
      gapMs: () => Math.max(gapMs, gapPerLook * this.#lookedForMs),
      round: () => this.#round(),
    })
    this.#unsubscribe = [
      applied.onCommand(registerNode, ({ outcome }) => {
        if (outcome.type === 'registered') this.#take(outcome.row)
      }),
      applied.onCommand(updateStatus, ({ args, outcome }) => {
        for (const { id, status, untilMs } of args.updates) {
          if (!outcome.changed.includes(id)) continue
          this.#take({ id, status, ...(untilMs !== undefined && { disconnectedUntilMs: untilMs }) })
        }
      }),
      applied.onCommand(purgeNode, ({ args }) => {
        this.#known.delete(args.id)
        this.#backMs.delete(args.id)
        this.#wheel.cancel(args.id)
      }),
      members.onChange(() => this.#rounds.wake()),
    ]
    this.#wheel.start()
    this.#scanning = this.#scan()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#wheel.stop()
    await this.#rounds.stop()
    await this.#scanning
  }

  heard(ids: readonly string[]): ReportReply {
    const unknown: string[] = []
    for (const id of ids) {
      const status = this.#known.get(id)
      if (status === undefined && this.#isComplete) {
        unknown.push(id)
        continue
      }
      this.#missed.delete(id)
      this.#unreached.delete(id)
      if (status !== 'disconnected') this.#arm(id)
      if (status !== 'ready') this.#returned.add(id)
    }
    if (this.#returned.size > 0) this.#rounds.wake()
    return { unknown, ttlMs: this.#ttlMs }
  }

  get #ttlMs(): number {
    return ttlMsOf(this.#context.settings, this.#known.size)
  }

  #arm(id: string): void {
    const { clock, settings } = this.#context
    this.#wheel.arm(id, clock.monotonicMs() + silentMsMax(this.#ttlMs, settings.graceMs))
  }

  /** As an entry has it that was applied while this server leads. */
  #take({ id, status, disconnectedUntilMs = 0 }: Known): void {
    const before = this.#known.get(id)
    const wasUp = this.#isUp(id)
    this.#known.set(id, status)
    if (status !== 'initializing') this.#backMs.delete(id)
    else if (before === 'disconnected') this.#backMs.set(id, this.#context.clock.monotonicMs())
    if (status === 'disconnected') this.#waitUntil(id, disconnectedUntilMs)
    else if (status === 'down') this.#wheel.cancel(id)
    else if (!wasUp) this.#arm(id)
  }

  /** Of one that is disconnected. */
  #waitUntil(id: string, untilMs: number): void {
    const { clock } = this.#context
    this.#wheel.arm(id, clock.monotonicMs() + Math.max(0, untilMs - clock.wallMs()))
  }

  async #scan(): Promise<void> {
    const { clock, settings, log } = this.#context
    const dueMs = clock.monotonicMs() + settings.failoverMs
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#readAll(dueMs)
        this.#isComplete = true
        this.#rounds.wake()
        return
      } catch (error) {
        log.warn('the nodes could not be read yet', { error: textOf(error) })
        await delay(clock, retryMs, this.#stopping.signal)
      }
    }
  }

  /** `dueMs`: the deadline of each node that is up. */
  async #readAll(dueMs: number): Promise<void> {
    await onView(this.#context.view, async (reader) => {
      for await (const page of nodesWithPrefix(reader, '')) {
        for (const { id, status, disconnectedUntilMs = 0 } of page) {
          // What came meanwhile is newer than this view.
          if (this.#known.has(id)) continue
          this.#known.set(id, status)
          if (status === 'disconnected') this.#waitUntil(id, disconnectedUntilMs)
          else if (status !== 'down') this.#wheel.arm(id, dueMs)
        }
      }
    })
  }

  /** Resolves to the pause before the next one. */
  async #round(): Promise<number> {
    await this.#readyAgain()
    const gone = this.#lostByGossip()
    for (const id of this.#unreached.keys()) if (!gone.has(id)) this.#unreached.delete(id)
    const doubted = [...new Set([...this.#missed, ...gone.keys()])].slice(0, lookedMax)
    if (doubted.length === 0) return this.#returned.size > 0 ? doubtMs : roundMs
    const silent = await this.#silentOf(doubted, gone)
    for (const { id } of silent) this.#returned.delete(id)
    const lost = await this.#lost(silent)
    await this.#propose(lost)
    for (const { id, status, cause } of lost) {
      this.#missed.delete(id)
      this.#unreached.delete(id)
      this.#context.log.warn(`a node is ${status}`, { node: id, cause })
    }
    return doubtMs
  }

  /** Of those that are doubted, whom no server reaches. */
  async #silentOf(
    doubted: readonly string[],
    lost: ReadonlyMap<string, LostMember>,
  ): Promise<readonly Silent[]> {
    const parts = chunks(doubted, nodesPerEntryMax)
    const reached = await Promise.all(parts.map(async (ids) => this.#context.reach(ids)))
    const answering = new Set(reached.flatMap((part) => [...part.answering]))
    const stopped = new Set(reached.flatMap((part) => [...part.stopped]))
    const isUnsure = reached.some((part) => part.isUnsure)
    return doubted.flatMap((id) => {
      if (answering.has(id)) return this.#answers(id)
      const member = lost.get(id)
      const isToReturn = stopped.has(id) && member?.left !== true
      return this.#silent(id, member, isUnsure || isToReturn)
    })
  }

  #answers(id: string): [] {
    if (this.#missed.delete(id)) this.#arm(id)
    this.#unreached.delete(id)
    return []
  }

  /** `mayLive`: gossip's word alone does not count. */
  #silent(id: string, lost: LostMember | undefined, mayLive: boolean): Silent[] {
    const left = lost?.left === true && { left: true as const }
    if (this.#missed.has(id)) return [{ id, cause: 'heartbeat', ...left }]
    if (mayLive) return []
    const now = this.#context.clock.monotonicMs()
    const sinceMs = this.#unreached.get(id) ?? now
    this.#unreached.set(id, sinceMs)
    const lasts = lost?.lastsMs ?? lastsMs.suspected
    return now - sinceMs < lasts ? [] : [{ id, cause: 'failed', ...left }]
  }

  /** Down, or disconnected for as long as what they run may be cut off. One whose time is over is down, and one that left. */
  #lost(silent: readonly Silent[]): Promise<readonly StatusUpdate[]> {
    const { view, work, clock } = this.#context
    return onView(view, async (reader) => {
      const updates: StatusUpdate[] = []
      // Servers of older programs know no nodes that are disconnected.
      const isKnown = reader.commandVersion >= settledWorkloadsVersion
      for (const found of silent) {
        const { id, left } = found
        const isGone = left === true || this.#known.get(id) === 'disconnected'
        const windowMs = isGone || !isKnown ? null : await work.windowMs(reader, id)
        if (windowMs === null) updates.push({ ...found, status: 'down' })
        else {
          const untilMs = Math.floor(clock.wallMs()) + windowMs
          updates.push({ ...found, status: 'disconnected', untilMs })
        }
      }
      return updates
    })
  }

  /** Nodes that are not known as silent yet, and whose machines gossip has lost or suspects. */
  #lostByGossip(): ReadonlyMap<string, LostMember> {
    const startMs = this.#context.clock.monotonicMs()
    const living = new Set<string>()
    const lost = new Map<string, LostMember>()
    for (const { id, status } of this.#context.members.agents()) {
      if (status === 'alive') living.add(id)
      else if (this.#isUp(id)) {
        const lasts = status === 'suspected' ? lastsMs.suspected : lastsMs.failed
        lost.set(id, { lastsMs: lasts, left: status === 'left' })
      }
    }
    for (const id of living) lost.delete(id)
    this.#lookedForMs = this.#context.clock.monotonicMs() - startMs
    return lost
  }

  #isUp(id: string): boolean {
    const status = this.#known.get(id)
    return status !== undefined && !isAway({ status })
  }

  async #readyAgain(): Promise<void> {
    const ids = [...this.#returned]
    await this.back(ids)
    const awaited = await this.#awaited(ids)
    const told = ids.filter((id) => !awaited.has(id))
    const updates = told
      .filter((id) => this.#known.get(id) !== 'ready')
      .map((id): StatusUpdate => ({ id, status: 'ready', cause: 'heartbeat' }))
    await this.#propose(updates)
    for (const id of told) this.#returned.delete(id)
  }

  async back(ids: readonly string[]): Promise<void> {
    const away = ids.filter((id) => this.#known.get(id) === 'disconnected')
    await this.#propose(away.map((id) => ({ id, status: 'initializing', cause: 'heartbeat' })))
  }

  /** Those that are just back, and have not told of all that they run. */
  #awaited(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { view, work, clock } = this.#context
    return onView(view, async (reader) => {
      const awaited = new Set<string>()
      for (const id of ids) {
        const backMs = this.#backMs.get(id)
        if (backMs === undefined || clock.monotonicMs() - backMs >= tellMs) continue
        if (await work.isAwaited(reader, id)) awaited.add(id)
      }
      return awaited
    })
  }

  async #propose(updates: readonly StatusUpdate[]): Promise<void> {
    const { propose, clock } = this.#context
    let following = this.#newlyLost(updates)
    for (const part of chunks(updates, nodesPerEntryMax)) {
      if (this.#stopping.signal.aborted) return
      following -= this.#newlyLost(part)
      const nowMs = Math.floor(clock.wallMs())
      // A storm is seen in its first entry, before anything of it is replaced.
      await propose(updateStatus, { updates: [...part], following, nowMs })
    }
  }

  #newlyLost(updates: readonly StatusUpdate[]): number {
    return updates.filter((update) => isAway(update) && this.#isUp(update.id)).length
  }
}
