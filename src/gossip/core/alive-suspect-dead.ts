/**
 * What is claimed about members, and which claim wins.
 *
 *   alive:          wins with a greater incarnation only.
 *   suspect, dead:  win with an equal or greater one.
 *   about oneself:  the member alone raises its incarnation, to above that of the member that thinks it gone or otherwise.
 *
 * An alive claim that loses against a death is put to the member itself: it is asked at the claimed address with the
 * incarnation of that death. A living one, restarted perhaps and counting from the start, objects with a greater
 * incarnation and is back within a round trip; no member answers a stale claim, and the death stands.
 */
import { assert } from '../../lib/assert.ts'
import { metaBytesMax, type Accusation, type Alive, type Endpoint } from './message.ts'
import {
  hearsayMax,
  isGone,
  membersMax,
  newMember,
  sameBytes,
  sameEndpoint,
  type Member,
} from './members.ts'
import { stallAllowanceOf } from './stall-allowance.ts'
import { suspicionTimes } from './profile.ts'
import { broadcastClaim, send } from './dissemination.ts'
import type { Swim } from './state.ts'
import type { Evidence, SuspicionEnd } from './suspicion.ts'
import { confirm } from './suspicion.ts'
import { compatible, sameVersions } from './versions.ts'

/** What the wire can carry. */
const incarnationMax = 2 ** 32 - 1
/** No honest member objects so often between two claims that reach us; what leaps further is forged. */
export const incarnationJumpMax = 2 ** 20
/** What serf lets a name be; an accusation with two such names fits into a packet. */
export const nameLengthMax = 128
const conflictEventIntervalMs = 10_000

/** Where an objection goes: to the sender of a packet, or of a state. Null: nowhere, or this member itself claims. */
export type Via = Endpoint | null

/**
 * How a name comes to be heard of. `sought`: in the state of a pool that this member joins. `met`: from the member itself, over a
 * stream from or to the address that it claims. `told`: else.
 */
export type Hearing = 'sought' | 'met' | 'told'

export function claimAlive(swim: Swim, claim: Alive, hearing: Hearing = 'told'): void {
  const { members, self, counters } = swim
  if (swim.leaving && claim.node === self.name) return
  if (!wellFormed(swim, claim)) return
  const member = members.get(claim.node)
  if (member === undefined) {
    admit(swim, claim, hearing)
    return
  }
  if (leaps(member, claim.incarnation)) {
    counters.claimsBeyondBounds += 1
    return
  }
  const moved = !sameEndpoint(member.endpoint, claim.endpoint)
  if (moved && !mayMove(swim, member, claim)) {
    conflict(swim, member, claim.endpoint)
    return
  }
  if (member === self) {
    aliveAboutSelf(swim, claim, moved)
    return
  }
  if (claim.incarnation > member.incarnation) accept(swim, member, claim)
  else if (isGone(member) || moved) challenge(swim, member, claim.endpoint)
}

/** `evidence` says how this member came to know. */
export function claimSuspect(swim: Swim, claim: Accusation, evidence: Evidence, via: Via): void {
  const { self, profile, members, suspicions } = swim
  const member = accused(swim, claim)
  if (member === null) return
  if (member === self) {
    if (!swim.leaving) refute(swim, claim, via)
    return
  }
  const running = suspicions.get(member.name)
  if (running !== undefined) {
    if (confirm(running, claim.from)) broadcastClaim(swim, member.name, claim)
    return
  }
  if (member.state !== 'alive') return
  broadcastClaim(swim, member.name, claim)
  const times = suspicionTimes(profile, { members: members.ringSize, living: members.living() })
  const suspicion = {
    by: claim.from,
    evidence,
    toldBy: toldBy(swim, evidence),
    incarnation: claim.incarnation,
    ...times,
    confirmedBy: [],
    allowance: stallAllowanceOf(times.minMs),
    startedAt: swim.now,
    ended: null,
  }
  member.incarnation = claim.incarnation
  changeState(swim, member, 'suspect')
  member.suspicion = suspicion
  suspicions.set(member.name, suspicion)
  swim.counters.suspicionsRaised += 1
  swim.upper.memberSuspected(member, suspicion)
}

function toldBy({ members }: Swim, evidence: Evidence): string | null {
  switch (evidence.type) {
    case 'probe':
      return null
    case 'push-pull':
      return evidence.from
    case 'told':
      return members.at(evidence.via)?.name ?? null
  }
}

/** `from` equal to `node`: the member says that it left. */
export function claimDead(swim: Swim, claim: Accusation, via: Via): void {
  const { self } = swim
  const member = accused(swim, claim)
  if (member === null) return
  const left = claim.from === claim.node
  if (member === self && !swim.leaving) {
    refute(swim, claim, via)
    swim.upper.selfCalledGone()
    return
  }
  // Its own word outdoes what others thought of its silence.
  if (isGone(member) && !(left && member.state === 'dead')) return
  endSuspicion(swim, member, left ? 'left' : 'failed', claim.from)
  broadcastClaim(swim, member.name, claim)
  member.incarnation = claim.incarnation
  member.goneBy = claim.from
  changeState(swim, member, left ? 'left' : 'dead')
  swim.upper.memberGone(member)
}

/** A new life of this member's own claim, for changed tags or to silence doubts; `above`: what it must outdo. */
export function announceSelf(swim: Swim, above: number): void {
  const { self } = swim
  const incarnation = Math.max(self.incarnation, above) + 1
  // At the end of the numbers a member keeps the last one rather than starting over.
  if (incarnation > incarnationMax) swim.counters.claimsBeyondBounds += 1
  self.incarnation = Math.min(incarnation, incarnationMax)
  broadcastClaim(swim, self.name, aliveClaim(self))
}

export function aliveClaim(member: Member): Alive {
  const { incarnation, name, endpoint, meta, versions } = member
  return { type: 'alive', incarnation, node: name, endpoint, meta, versions }
}

/** The known member that a valid accusation is about; null: nothing to do. */
function accused(swim: Swim, claim: Accusation): Member | null {
  const member = swim.members.get(claim.node)
  if (member === undefined) {
    swim.counters.claimsUnknown += 1
    return null
  }
  const { incarnation, from } = claim
  if (!isIncarnation(incarnation) || leaps(member, incarnation) || from.length > nameLengthMax) {
    swim.counters.claimsBeyondBounds += 1
    return null
  }
  return incarnation < member.incarnation ? null : member
}

function isIncarnation(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= incarnationMax
}

function leaps(member: Member, incarnation: number): boolean {
  return incarnation > member.incarnation + incarnationJumpMax
}

function wellFormed(swim: Swim, claim: Alive): boolean {
  const { counters } = swim
  const { node, incarnation, meta, versions } = claim
  if (node.length < 1 || node.length > nameLengthMax || meta.length > metaBytesMax) {
    counters.claimsInvalid += 1
    return false
  }
  if (!isIncarnation(incarnation)) {
    counters.claimsBeyondBounds += 1
    return false
  }
  if (versions === null || !compatible(swim.versions, versions)) {
    counters.claimsIncompatible += 1
    return false
  }
  return true
}

function admit(swim: Swim, claim: Alive, hearing: Hearing): void {
  const { members, now, counters } = swim
  // The first word about a name must leave it room to object.
  if (claim.versions === null || claim.incarnation > incarnationMax - incarnationJumpMax) {
    counters.claimsBeyondBounds += 1
    return
  }
  const isCrowded = hearing !== 'sought' && members.untried(now) >= hearsayMax
  const isFull = isCrowded || members.size >= membersMax
  if (isFull && !makeRoom(swim, { isCrowded, isMet: hearing === 'met' })) {
    counters.claimsNoRoom += 1
    return
  }
  const { node: name, endpoint, meta, versions, incarnation } = claim
  const introduction = { name, endpoint, meta, versions, incarnation, reach: 'untried' } as const
  const member = newMember(introduction, now)
  members.add(member)
  broadcastClaim(swim, member.name, claim)
  swim.upper.memberJoined(member, false)
}

/** The dead give way to any newcomer, unless there is too much hearsay; hearsay gives way to a member that was met. */
function makeRoom(
  swim: Swim,
  { isCrowded, isMet }: { readonly isCrowded: boolean; readonly isMet: boolean },
): boolean {
  const { members, self } = swim
  const gone = isCrowded ? null : members.oldestGone()
  const oldest = gone ?? (isMet ? members.oldestUntried() : null)
  if (oldest === null || oldest === self) return false
  members.forget(oldest.name)
  swim.upper.memberForgotten(oldest)
  return true
}

function accept(swim: Swim, member: Member, claim: Alive): void {
  const { members, upper } = swim
  assert(claim.incarnation > member.incarnation, 'the incarnation of a name never falls')
  assert(claim.versions !== null, 'a member without versions is not taken in')
  const wasGone = isGone(member)
  const moved = !sameEndpoint(member.endpoint, claim.endpoint)
  const changed =
    moved || !sameBytes(member.meta, claim.meta) || !sameVersions(member.versions, claim.versions)
  broadcastClaim(swim, member.name, claim)
  member.incarnation = claim.incarnation
  if (moved) {
    // Round trips to another place say nothing about this one.
    member.coordinate = null
    member.roundTrips.length = 0
  }
  member.endpoint = claim.endpoint
  member.meta = claim.meta
  member.versions = claim.versions
  if (member.state !== 'alive') changeState(swim, member, 'alive')
  if (wasGone) {
    member.goneBy = null
    member.released = false
    member.reach = 'untried'
    member.reachChangedAt = swim.now
    members.revive(member)
    upper.memberJoined(member, true)
    return
  }
  endSuspicion(swim, member, 'refuted', null)
  if (changed) upper.memberUpdated(member)
}

/** Others hold an older or other claim of this name: outdo it. What is its own present one needs no word. */
function aliveAboutSelf(swim: Swim, claim: Alive, moved: boolean): void {
  const { self } = swim
  if (claim.incarnation < self.incarnation || claim.versions === null) return
  const same =
    !moved && sameBytes(self.meta, claim.meta) && sameVersions(self.versions, claim.versions)
  if (claim.incarnation === self.incarnation && same) return
  swim.awareness.apply(1)
  swim.counters.refutations += 1
  announceSelf(swim, claim.incarnation)
}

function refute(swim: Swim, claim: Accusation, via: Via): void {
  const { self, counters } = swim
  // The member with so fresh a suspicion was slow to hear, or this member was slow to answer.
  swim.awareness.apply(1)
  counters.refutations += 1
  announceSelf(swim, claim.incarnation)
  const { incarnation } = self
  swim.out.events.push({ type: 'refuted', by: claim.from, incarnation })
  if (via !== null) send(swim, { endpoint: via, member: null }, [aliveClaim(self)])
}

function challenge(swim: Swim, member: Member, endpoint: Endpoint): void {
  const { now, profile, self } = swim
  if (now - member.challengedAt < profile.probeIntervalMs) return
  member.challengedAt = now
  const { incarnation, name } = member
  send(swim, { endpoint, member: null }, [
    { type: 'suspect', incarnation, node: name, from: self.name },
  ])
}

/** Whether another address may have the name now. */
function mayMove(swim: Swim, member: Member, claim: Alive): boolean {
  if (isSameOwner(swim, member, claim)) return true
  if (member === swim.self || !isGone(member)) return false
  if (member.state === 'left' || member.released) return true
  const { deadReclaimMs } = swim.profile
  return deadReclaimMs !== null && swim.now - member.stateChangedAt > deadReclaimMs
}

/** A member with the owner's mark is that member itself, at another address. */
function isSameOwner({ ownerTag, codec }: Swim, { meta }: Member, claim: Alive): boolean {
  if (ownerTag === null) return false
  const owner = codec.decodeTags(meta)?.get(ownerTag) ?? ''
  return owner !== '' && codec.decodeTags(claim.meta)?.get(ownerTag) === owner
}

function conflict(swim: Swim, member: Member, claimed: Endpoint): void {
  swim.counters.nameConflicts += 1
  if (swim.now - member.conflictAt < conflictEventIntervalMs) return
  member.conflictAt = swim.now
  const { name, endpoint: known } = member
  const own = member === swim.self
  swim.out.events.push({ type: 'name-conflict', name, known, claimed, own })
}

function endSuspicion(
  swim: Swim,
  member: Member,
  how: SuspicionEnd['how'],
  by: string | null,
): void {
  const suspicion = swim.suspicions.get(member.name)
  if (suspicion === undefined) return
  swim.suspicions.delete(member.name)
  suspicion.ended = { at: swim.now, how, by }
  if (how !== 'refuted') return
  swim.upper.memberTrusted(member, suspicion)
}

function changeState(swim: Swim, member: Member, state: Member['state']): void {
  member.state = state
  member.stateChangedAt = swim.now
}
