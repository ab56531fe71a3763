/**
 * What a member is meant to be: alive, leaving, left or failed.
 *
 *   alive   -> leaving   its leave intent was heard
 *   leaving -> alive     it objects with a later join intent
 *   leaving -> left      the failure detector says that it is gone
 *   alive   -> failed    gone without an intent; by its own word it left all the same
 *   failed  -> left      a leave intent about it: that is force-leave
 *   any     -> alive     the failure detector has it back
 *
 * An intent counts if its Lamport time is above the member's, and is passed on only if it counted. The member's time
 * moves even when its status does not, else two members would echo each other's messages for ever.
 */
import { nameLengthMax } from './alive-suspect-dead.ts'
import type { Member } from './members.ts'
import { isGone } from './members.ts'
import type { Status } from './ready.ts'
import { broadcast, tell, viewOf, type Pool, type Standing } from './serf.ts'

export type LeaveIntent = { readonly node: string; readonly time: number; readonly prune: boolean }
export type JoinIntent = { readonly node: string; readonly time: number }

// --- what the failure detector says ---

/** `again`: the failure detector knew it and had it for gone. */
export function memberJoined(pool: Pool, member: Member, again: boolean): void {
  const { serf, swim } = pool
  const known = serf.standings.get(member.name)
  const tags = tagsOf(pool, member)
  const before = known?.status ?? null
  const standing: Standing = known ?? {
    member,
    status: 'alive',
    statusTime: 0,
    goneAt: null,
    tags,
    prune: false,
  }
  standing.member = member
  standing.status = 'alive'
  standing.goneAt = null
  standing.tags = tags
  standing.prune = false
  if (known === undefined) {
    serf.standings.set(member.name, standing)
    const intent = serf.recent.take(member.name, swim.now)
    if (intent !== null) {
      standing.statusTime = intent.time
      // Of a name that was pruned, the intent is about the life before.
      if (intent.kind === 'leave' && !again) standing.status = 'leaving'
    }
  }
  tell(pool, { type: 'member-joined', member: viewOf(standing), before })
}

export function memberUpdated(pool: Pool, member: Member): void {
  const standing = pool.serf.standings.get(member.name)
  if (standing === undefined) return
  standing.tags = tagsOf(pool, member)
  tell(pool, { type: 'member-updated', member: viewOf(standing) })
}

export function memberGone(pool: Pool, member: Member): void {
  const standing = pool.serf.standings.get(member.name)
  if (standing === undefined || standing.status === 'left') return
  if (standing.status === 'leaving' || member.state === 'left') {
    becomeLeft(pool, standing, false)
    if (standing.prune) erase(pool, standing)
    return
  }
  if (standing.status === 'failed') return
  standing.status = 'failed'
  standing.goneAt = pool.swim.now
  tell(pool, { type: 'member-failed', member: viewOf(standing) })
}

export function memberForgotten(pool: Pool, member: Member): void {
  const standing = pool.serf.standings.get(member.name)
  if (standing === undefined) return
  pool.serf.standings.delete(member.name)
  tell(pool, { type: 'member-reaped', member: viewOf(standing) })
}

// --- intents ---

/** True: news, to be passed on. */
export function leaveIntended(pool: Pool, intent: LeaveIntent): boolean {
  const { serf, swim } = pool
  const { node, time, prune } = intent
  if (!acceptable(pool, intent)) return false
  const standing = serf.standings.get(node)
  if (standing === undefined) return serf.recent.add(node, 'leave', time, swim.now)
  // Also one of the same time: others took it, and would not hear of a join that is no later.
  if (isStaying(pool, node) && time >= standing.statusTime) {
    announceJoin(pool)
    return false
  }
  if (time <= standing.statusTime) return false
  standing.statusTime = time
  if (prune && node !== swim.self.name) standing.prune = true
  if (standing.status === 'alive') {
    standing.status = 'leaving'
    tell(pool, { type: 'member-leaving', member: viewOf(standing) })
  } else if (standing.status === 'failed') {
    becomeLeft(pool, standing, true)
  }
  if (standing.prune && isGone(standing.member)) erase(pool, standing)
  return true
}

/** An exchange told the time of a member's status, not what the status is. */
export function statusTimeTold(pool: Pool, intent: JoinIntent): void {
  const { node, time } = intent
  const known = pool.serf.standings.get(node)
  // Of this member it may be the time of a leave that it has not heard of; taken for its own, it would never object.
  if (known === undefined || time <= known.statusTime || !isStaying(pool, node)) {
    joinIntended(pool, intent)
  } else if (acceptable(pool, intent)) {
    announceJoin(pool)
  }
}

/** True: news, to be passed on. */
export function joinIntended(pool: Pool, intent: JoinIntent): boolean {
  const { serf, swim } = pool
  const { node, time } = intent
  if (!acceptable(pool, intent)) return false
  const standing = serf.standings.get(node)
  if (standing === undefined) return serf.recent.add(node, 'join', time, swim.now)
  if (time <= standing.statusTime) return false
  standing.statusTime = time
  if (standing.status === 'leaving' && standing.member !== swim.self) {
    standing.status = 'alive'
    standing.prune = false
    tell(pool, { type: 'member-stays', member: viewOf(standing) })
  }
  return true
}

/** Says that this member is here, later than anything heard so far. */
export function announceJoin(pool: Pool): void {
  const { serf, swim } = pool
  const node = swim.self.name
  const time = serf.clock.increment()
  const standing = serf.standings.get(node)
  if (standing !== undefined) standing.statusTime = time
  broadcast(pool, serf.intents, node, { type: 'join-intent', time, node })
}

/** It is this member, which does not mean to leave. */
function isStaying({ serf, swim }: Pool, node: string): boolean {
  return node === swim.self.name && serf.leave === null
}

/** Hears the time of an intent, unless its name or its time cannot be meant. */
function acceptable(pool: Pool, { node, time }: JoinIntent): boolean {
  if (node.length > 0 && node.length <= nameLengthMax && pool.serf.clock.witness(time)) return true
  pool.swim.counters.timesRefused += 1
  return false
}

/** Whatever cannot be read as tags counts as none. */
function tagsOf(pool: Pool, member: Member): ReadonlyMap<string, string> {
  return pool.swim.codec.decodeTags(member.meta) ?? new Map<string, string>()
}

function becomeLeft(pool: Pool, standing: Standing, forced: boolean): void {
  const before: Status = standing.status
  standing.status = 'left'
  standing.goneAt = before === 'failed' ? standing.goneAt : pool.swim.now
  // Given up on purpose: the next member of that name need not wait.
  standing.member.released = true
  tell(pool, { type: 'member-left', member: viewOf(standing), forced })
}

/** Out of the list at once. The failure detector remembers the death, so that no old claim undoes it. */
function erase(pool: Pool, standing: Standing): void {
  const { serf, swim } = pool
  const { name } = standing.member
  serf.standings.delete(name)
  // An intent from before is no news: passed on, it would take the place of the one that prunes.
  serf.recent.add(name, 'leave', standing.statusTime, swim.now)
  tell(pool, { type: 'member-reaped', member: viewOf(standing) })
}
