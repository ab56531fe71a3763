/**
 * Gossip as a machine over values: inputs in, `Ready` out. It never waits and never looks at a clock: every input
 * carries the time in milliseconds of a clock that never goes back, and randomness comes from the `Random` it was given.
 *
 * The owner gives inputs in any number, then takes one `Ready` and performs it, and calls `tick` when `nextDeadline`
 * has come. Ready is the only output; what is not in it did not happen.
 */
import { MusterError } from '../../lib/errors.ts'
import type { Random } from '../../lib/random.ts'
import { reaperDeadline, reaperTick } from './reaper.ts'
import { announceSelf } from './alive-suspect-dead.ts'
import { sendEvent } from './events.ts'
import { listenerOf, localState, meet, mergeState, startExchange } from './exchange.ts'
import type { Coordinate } from './coordinate.ts'
import { forceLeave, leaveTick, startLeave } from './leave.ts'
import { isGone, type Member } from './members.ts'
import { metaBytesMax } from './message.ts'
import type {
  Endpoint,
  PacketMessage,
  PushPull,
  SerfQuery,
  UserEvent,
  Versions,
} from './message.ts'
import { streamPingAnswered } from './probe.ts'
import type { Profile } from './profile.ts'
import { ask, queryDeadline, queryTick, respond, type Question } from './queries.ts'
import type { GossipEvent, MemberView, Ready, Status } from './ready.ts'
import { createSerf, serfDefaults, tell, viewOf, type Pool, type SerfOptions } from './serf.ts'
import { mergeSerfState, serfState } from './serf-exchange.ts'
import { serfMessage } from './serf-message.ts'
import {
  announceJoin,
  memberForgotten,
  memberGone,
  memberJoined,
  memberUpdated,
} from './member-status.ts'
import { emptyOutbox, type Codec, type Counters, type MessageCounts, type Upper } from './state.ts'
import type { StreamOutcome } from './suspicion.ts'
import { createSwim, swimDeadline, swimHeldUp, swimMessage, swimTick } from './swim.ts'
import { ownVersions } from './versions.ts'

export type CoreOptions = {
  readonly name: string
  /** The address others reach this member at. */
  readonly endpoint: Endpoint
  readonly tags: ReadonlyMap<string, string>
  readonly profile: Profile
  readonly random: Random
  readonly codec: Codec
  /** A tag that is one member's for good: with it its name moves to another address at once. Null: none is. */
  readonly ownerTag?: string | null
  readonly versions?: Versions
  readonly serf?: Partial<SerfOptions>
}

/** Busy event loops are late by less than this now and then. */
const lateMsMin = 250

export class GossipCore {
  readonly #pool: Pool
  /** Late by more than this, the process was not run; less is the event loop's ordinary lateness. */
  readonly #lateMs: number
  /** The exchange whose answer is being merged brings old events that are not wanted. */
  #skipEvents = false

  constructor(options: CoreOptions, now: number) {
    const { name, endpoint, profile, random, codec, ownerTag = null } = options
    const serf = createSerf({ ...serfDefaults, ...options.serf }, now)
    const versions = options.versions ?? ownVersions
    const queues = [serf.intents, serf.queryNews, serf.eventNews]
    const meta = metaOf(codec, options.tags)
    const upper = this.#upper()
    const swim = createSwim(
      { name, endpoint, meta, versions, profile, random, codec, ownerTag, upper, queues },
      now,
    )
    this.#pool = { swim, serf }
    this.#lateMs = Math.max(lateMsMin, profile.probeTimeoutMs / 2)
    memberJoined(this.#pool, swim.self, false)
  }

  // --- what it knows ---

  get name(): string {
    return this.#pool.swim.self.name
  }
  /** Whether this is its name, or what its owner's tag says: that, too, is one member's for good. */
  isCalled(who: string): boolean {
    const { self, codec, ownerTag } = this.#pool.swim
    if (who === self.name) return true
    return ownerTag !== null && codec.decodeTags(self.meta)?.get(ownerTag) === who
  }
  /** 0: well; the more, the slower it is to suspect others. */
  get healthScore(): number {
    return this.#pool.swim.awareness.score
  }
  get counters(): Readonly<Counters> {
    return this.#pool.swim.counters
  }
  get messages(): { readonly sent: MessageCounts; readonly received: MessageCounts } {
    const { sent, received } = this.#pool.swim
    return { sent, received }
  }
  get membersByStatus(): Readonly<Record<Status, number>> {
    const counts = { alive: 0, leaving: 0, left: 0, failed: 0 }
    for (const { status } of this.#pool.serf.standings.values()) counts[status] += 1
    return counts
  }
  /** Lengths of the queues and tables that have a bound. */
  get sizes() {
    const { swim, serf } = this.#pool
    return {
      members: swim.members.size,
      claims: swim.claims.size,
      intents: serf.intents.size,
      events: serf.eventNews.size,
      queries: serf.queryNews.size,
      suspicions: swim.suspicions.size,
      relays: swim.relays.size,
      exchanges: swim.exchanges.size,
      recentIntents: serf.recent.size,
    }
  }
  get lamportTimes() {
    const { clock, eventClock, queryClock } = this.#pool.serf
    return { members: clock.time, events: eventClock.time, queries: queryClock.time }
  }
  /** Where it is on its way out; null: it stays. */
  get leaving(): 'intent' | 'announce' | 'drain' | 'done' | null {
    return this.#pool.serf.leave?.phase ?? null
  }
  members(): readonly MemberView[] {
    return [...this.#pool.serf.standings.values()].map(viewOf)
  }
  member(name: string): MemberView | null {
    const standing = this.#pool.serf.standings.get(name)
    return standing === undefined ? null : viewOf(standing)
  }
  /** Where those place themselves that are there and said so, this member among them. All are sound. */
  coordinates(): ReadonlyMap<string, Coordinate> {
    const { swim, serf } = this.#pool
    const places = new Map<string, Coordinate>()
    for (const [name, { member }] of serf.standings) {
      const place = member === swim.self ? swim.coordinate.place : member.coordinate
      if (place !== null && !isGone(member)) places.set(name, place)
    }
    return places
  }
  /** When `tick` has something to do next. */
  get nextDeadline(): number {
    const { leave } = this.#pool.serf
    if (leave?.phase === 'done') return Infinity
    return Math.min(
      swimDeadline(this.#pool.swim),
      reaperDeadline(this.#pool),
      queryDeadline(this.#pool),
      leave?.deadline ?? Infinity,
    )
  }

  // --- inputs ---

  tick(now: number): void {
    const { swim } = this.#at(now)
    if (this.leaving === 'done') return
    swimTick(swim)
    leaveTick(this.#pool)
    reaperTick(this.#pool)
    queryTick(this.#pool)
  }

  /** One element of a packet that came from there. */
  message(message: PacketMessage, from: Endpoint, now: number): void {
    swimMessage(this.#at(now).swim, message, from)
  }

  /** A peer sent its state: returns ours, to be answered, as it was before theirs is merged. `error`: nothing was. */
  exchangeReceived(
    state: PushPull,
    from: Endpoint,
    now: number,
  ): { readonly reply: PushPull; readonly error: string | null } {
    const { swim } = this.#at(now)
    const reply = localState(swim, false)
    this.#skipEvents = false
    return {
      reply,
      error: mergeState(swim, state, {
        via: listenerOf(swim, state, from),
        join: state.join,
        isSought: false,
      }),
    }
  }

  /** The outcome of an exchange that `Ready` asked for: the peer's state, or what went wrong. */
  exchanged(id: number, outcome: PushPull | string, now: number): void {
    const { swim } = this.#at(now)
    const pending = swim.exchanges.get(id)
    if (pending === undefined) return
    swim.exchanges.delete(id)
    const { to, join } = pending
    this.#skipEvents = !pending.replayEvents
    const error =
      typeof outcome === 'string'
        ? outcome
        : mergeState(swim, outcome, { via: to, join, isSought: join })
    this.#skipEvents = false
    if (join && error === null && this.#pool.serf.leave === null) announceJoin(this.#pool)
    if (join) tell(this.#pool, { type: 'joined-through', id, to, error })
    else if (error !== null) tell(this.#pool, { type: 'exchange-failed', to, error })
  }

  /** The outcome of a stream ping. */
  streamAnswered(id: number, outcome: StreamOutcome, now: number): void {
    streamPingAnswered(this.#at(now).swim, id, outcome)
  }

  // --- commands ---

  /**
   * Joins the pool of the member at that address; `joined-through` with the returned id tells how it went.
   * `replayEvents`: user events of the past are told too. Throws `overloaded`.
   */
  join(to: Endpoint, replayEvents: boolean, now: number): number {
    const id = startExchange(this.#at(now).swim, to, { join: true, replayEvents })
    if (id === null) {
      throw new MusterError('overloaded', 'too many exchanges are under way; join again later')
    }
    return id
  }

  /** An agent answers there: a pool that is full of hearsay has not believed in it, perhaps, and makes room. */
  meet(at: Endpoint, now: number): void {
    meet(this.#at(now).swim, at)
  }

  /** Leaves gracefully; `left-pool` says when the process may stop. */
  leave(now: number): void {
    this.#at(now)
    startLeave(this.#pool)
  }

  /** Gives a failed member up, for all; `prune` takes it off the lists. Throws `not_found` and `invalid_argument`. */
  forceLeave(name: string, prune: boolean, now: number): void {
    this.#at(now)
    if (name === this.name) {
      throw new MusterError('invalid_argument', 'a member cannot force itself out; let it leave')
    }
    if (!forceLeave(this.#pool, name, prune)) {
      throw new MusterError('not_found', `no member ${JSON.stringify(name)} is known`)
    }
  }

  /** Throws `too_large`. */
  setTags(tags: ReadonlyMap<string, string>, now: number): void {
    const { swim } = this.#at(now)
    swim.self.meta = metaOf(swim.codec, tags)
    announceSelf(swim, 0)
    memberUpdated(this.#pool, swim.self)
  }

  /** Throws `too_large`. */
  userEvent(event: UserEvent, coalesce: boolean, now: number): void {
    this.#at(now)
    sendEvent(this.#pool, event, coalesce)
  }

  /** Asks all members; the answers come as events with the returned id. Throws `too_large`, `overloaded`. */
  query(question: Question, now: number): number {
    this.#at(now)
    return ask(this.#pool, question)
  }

  /** Answers a `query` event. Throws `too_large`. */
  respond(query: SerfQuery, payload: Uint8Array, now: number): void {
    this.#at(now)
    respond(this.#pool, query, payload)
  }

  // --- output ---

  /** All that is to be done and told since the last call. */
  ready(): Ready {
    const { swim } = this.#pool
    const { out } = swim
    swim.out = emptyOutbox()
    return out
  }

  hasReady(): boolean {
    const { packets, exchanges, streamPings, events } = this.#pool.swim.out
    return packets.length + exchanges.length + streamPings.length + events.length > 0
  }

  /** Sets the time. A process that was stopped for a while owes its members the patience it could not have. */
  #at(now: number): Pool {
    const { swim } = this.#pool
    const lateBy = now - Math.max(this.nextDeadline, swim.now)
    swim.now = Math.max(swim.now, now)
    if (lateBy > this.#lateMs) {
      swimHeldUp(swim, lateBy)
      tell(this.#pool, { type: 'held-up', ms: lateBy })
    }
    return this.#pool
  }

  /** What the failure detector tells and asks the layer above. */
  #upper(): Upper {
    return {
      memberJoined: (member, again) => memberJoined(this.#pool, member, again),
      memberUpdated: (member) => memberUpdated(this.#pool, member),
      memberGone: (member) => memberGone(this.#pool, member),
      memberForgotten: (member) => memberForgotten(this.#pool, member),
      selfCalledGone: () => announceJoin(this.#pool),
      memberSuspected: (member, suspicion) =>
        this.#tellOf(member, (view) => ({ type: 'member-suspected', member: view, suspicion })),
      memberTrusted: (member, suspicion) =>
        this.#tellOf(member, (view) => ({ type: 'member-trusted', member: view, suspicion })),
      memberReach: (member) =>
        this.#tellOf(member, (view) => ({ type: 'member-reach', member: view })),
      userMessage: (bytes) => serfMessage(this.#pool, bytes),
      localState: () => this.#pool.swim.codec.encode(serfState(this.#pool)),
      mergeState: (bytes) => this.#mergeUserState(bytes),
    }
  }

  #tellOf(member: Member, build: (view: MemberView) => GossipEvent): void {
    const standing = this.#pool.serf.standings.get(member.name)
    if (standing !== undefined) tell(this.#pool, build(viewOf(standing)))
  }

  #mergeUserState(bytes: Uint8Array): void {
    const { swim } = this.#pool
    const state = swim.codec.decode(bytes)
    if (state?.type === 'serf-push-pull') mergeSerfState(this.#pool, state, this.#skipEvents)
    else swim.counters.userMessagesInvalid += 1
  }
}

function metaOf(codec: Codec, tags: ReadonlyMap<string, string>): Uint8Array {
  const meta = codec.encodeTags(tags)
  if (meta.length <= metaBytesMax) return meta
  throw new MusterError(
    'too_large',
    `the tags take ${meta.length} bytes; at most ${metaBytesMax} are sent`,
  )
}
