/**
 * The mutable state of the membership layer: what each member is *meant* to be, beside what the failure detector saw
 * of it. The files `member-status`, `leave`, `reaper`, `events`, `queries` and `serf-exchange` are functions over it.
 */
import { assert } from '../../lib/assert.ts'
import { Broadcasts } from './broadcasts.ts'
import { EventRing } from './event-ring.ts'
import { RecentIntents } from './intents.ts'
import { LamportClock } from './lamport.ts'
import type { Member } from './members.ts'
import type { SerfMessage } from './message.ts'
import { QueryRing } from './query-ring.ts'
import type { GossipEvent, MemberView, Status } from './ready.ts'
import { newsBytesMax } from './dissemination.ts'
import type { Swim } from './state.ts'

export type SerfOptions = {
  /** Between looks for members that are gone for too long. */
  readonly reapIntervalMs: number
  readonly reconnectIntervalMs: number
  /** Failed members are shown, and tried again, for so long; those that left are shown for `tombstoneMs`. */
  readonly reconnectMs: number
  readonly tombstoneMs: number
  /** Longest wait until an intent is told often enough, and the time the last word gets to travel. */
  readonly broadcastTimeoutMs: number
  readonly leaveDrainMs: number
}

export const serfDefaults: SerfOptions = {
  reapIntervalMs: 15_000,
  reconnectIntervalMs: 30_000,
  reconnectMs: 24 * 3_600_000,
  tombstoneMs: 24 * 3_600_000,
  broadcastTimeoutMs: 5_000,
  leaveDrainMs: 1_000,
}

/** Messages of this layer waiting to be told, per kind. */
const queueMax = 4_096

export type Standing = {
  member: Member
  status: Status
  /** Lamport time of the newest intent about it. */
  statusTime: number
  /** When it failed or left; null while it is there. */
  goneAt: number | null
  tags: ReadonlyMap<string, string>
  /** To be erased as soon as it is gone. */
  prune: boolean
}

/** This member's own way out. */
export type Leave = {
  phase: 'intent' | 'announce' | 'drain' | 'done'
  deadline: number
}

/** A question of this member, whose answers are awaited. */
export type OwnQuery = {
  readonly time: number
  readonly deadline: number
  readonly acked: Set<string>
  readonly answered: Set<string>
}

export type Serf = {
  readonly options: SerfOptions
  readonly clock: LamportClock
  readonly eventClock: LamportClock
  readonly queryClock: LamportClock
  readonly standings: Map<string, Standing>
  readonly recent: RecentIntents
  readonly intents: Broadcasts
  readonly queryNews: Broadcasts
  readonly eventNews: Broadcasts
  readonly events: EventRing
  readonly queries: QueryRing
  readonly ownQueries: Map<number, OwnQuery>
  /** Events before that are not told: they were before this member's time. */
  eventMinTime: number
  leave: Leave | null
  reapAt: number
  reconnectAt: number
}

export function createSerf(options: SerfOptions, now: number): Serf {
  assert(options.reapIntervalMs > 0, 'reaping has an interval')
  return {
    options,
    clock: new LamportClock(),
    eventClock: new LamportClock(),
    queryClock: new LamportClock(),
    standings: new Map(),
    recent: new RecentIntents(),
    intents: new Broadcasts(queueMax),
    queryNews: new Broadcasts(queueMax),
    eventNews: new Broadcasts(queueMax),
    events: new EventRing(),
    queries: new QueryRing(),
    ownQueries: new Map(),
    eventMinTime: 0,
    leave: null,
    reapAt: now + options.reapIntervalMs,
    reconnectAt: now + options.reconnectIntervalMs,
  }
}

/** Both layers of one member. */
export type Pool = { readonly swim: Swim; readonly serf: Serf }

export function viewOf(standing: Standing): MemberView {
  const { member, status, statusTime, goneAt, tags } = standing
  const { name, endpoint, state, stateChangedAt, incarnation, versions } = member
  const { reach, reachChangedAt, goneBy, suspicion } = member
  return {
    name,
    endpoint,
    tags,
    status,
    statusTime,
    goneAt,
    state,
    stateChangedAt,
    incarnation,
    versions,
    reach,
    reachChangedAt,
    goneBy,
    suspicion,
  }
}

export function tell(pool: Pool, event: GossipEvent): void {
  pool.swim.out.events.push(event)
}

/** Puts a message of this layer into a queue, under a key whose older message it replaces. */
export function broadcast(
  pool: Pool,
  queue: Broadcasts,
  key: string,
  message: SerfMessage | Uint8Array,
): void {
  const { codec, profile, counters } = pool.swim
  const bytes = message instanceof Uint8Array ? message : codec.encode(message)
  const user = { type: 'user', bytes } as const
  const size = codec.sizeOf(user)
  if (size <= newsBytesMax(profile)) queue.add(key, user, size)
  else counters.newsTooLarge += 1
}

/** Whether any member could hear. */
export function hasCompany(pool: Pool): boolean {
  for (const { member } of pool.serf.standings.values()) {
    if (member === pool.swim.self) continue
    if (member.state === 'alive' || member.state === 'suspect') return true
  }
  return false
}
