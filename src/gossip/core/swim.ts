/**
 * The failure detector as one machine: time passes, packets come, and each goes to its file.
 */
import { assertNever } from '../../lib/assert.ts'
import { Awareness } from './awareness.ts'
import { OwnCoordinate } from './coordinate.ts'
import { Broadcasts } from './broadcasts.ts'
import { claimAlive, claimDead, claimSuspect } from './alive-suspect-dead.ts'
import { exchangeTick } from './exchange.ts'
import { Members, membersMax, newMember } from './members.ts'
import type { Endpoint, PacketMessage, Versions } from './message.ts'
import {
  answerPing,
  probeAnswered,
  probeDeadline,
  probeHeldUp,
  probeNacked,
  probeTick,
} from './probe.ts'
import { makeUpFor } from './stall-allowance.ts'
import type { Profile } from './profile.ts'
import { relayAnswered, relayDeadline, relayTick, startRelay } from './relay.ts'
import { gossip, hasNews } from './dissemination.ts'
import {
  emptyOutbox,
  zeroCounters,
  zeroMessages,
  type Codec,
  type Swim,
  type Upper,
} from './state.ts'
import { deadlineOf } from './suspicion.ts'
import type { Random } from '../../lib/random.ts'

export type SwimOptions = {
  readonly name: string
  readonly endpoint: Endpoint
  readonly meta: Uint8Array
  readonly versions: Versions
  readonly profile: Profile
  readonly random: Random
  readonly codec: Codec
  readonly ownerTag: string | null
  readonly upper: Upper
  /** The queues of the layer above, the most urgent first. */
  readonly queues: readonly Broadcasts[]
}

/** Alone in its pool. Its rounds begin at random moments, so that members started together do not act together. */
export function createSwim(options: SwimOptions, now: number): Swim {
  const { profile, random, codec, ownerTag, versions, upper } = options
  const { name, endpoint, meta } = options
  const self = newMember({ name, endpoint, meta, versions, incarnation: 1, reach: 'direct' }, now)
  const members = new Members(random)
  members.add(self)
  const claims = new Broadcasts(membersMax)
  return {
    self,
    profile,
    random,
    codec,
    ownerTag,
    versions,
    members,
    awareness: new Awareness(profile.awarenessMax),
    coordinate: new OwnCoordinate(random),
    queues: [claims, ...options.queues],
    claims,
    suspicions: new Map(),
    relays: new Map(),
    exchanges: new Map(),
    counters: zeroCounters(),
    sent: zeroMessages(),
    received: zeroMessages(),
    upper,
    now,
    sequence: Math.floor(random.next() * 2 ** 32),
    nextId: 0,
    probe: null,
    probeAt: now + random.next() * profile.probeIntervalMs,
    gossipAt: now,
    pushPullAt: now + random.next() * profile.pushPullIntervalMs,
    leaving: false,
    out: emptyOutbox(),
  }
}

export function swimTick(swim: Swim): void {
  relayTick(swim)
  probeTick(swim)
  suspicionTick(swim)
  exchangeTick(swim)
  if (swim.now >= swim.gossipAt) gossip(swim)
}

export function swimDeadline(swim: Swim): number {
  let deadline = Math.min(probeDeadline(swim), relayDeadline(swim))
  if (!swim.leaving) deadline = Math.min(deadline, swim.pushPullAt)
  if (swim.members.ringSize > 1 && hasNews(swim)) deadline = Math.min(deadline, swim.gossipAt)
  for (const suspicion of swim.suspicions.values()) {
    deadline = Math.min(deadline, deadlineOf(suspicion))
  }
  return deadline
}

export function swimMessage(swim: Swim, message: PacketMessage, from: Endpoint): void {
  swim.received[message.type] += 1
  switch (message.type) {
    case 'ping':
      answerPing(swim, message, from)
      return
    case 'indirect-ping':
      startRelay(swim, message, from)
      return
    case 'ack':
      if (probeAnswered(swim, message, from)) return
      if (!relayAnswered(swim, message.sequence)) swim.counters.acksUnknown += 1
      return
    case 'nack':
      probeNacked(swim, message.sequence, from)
      return
    case 'alive':
      claimAlive(swim, message)
      return
    case 'suspect':
      claimSuspect(swim, message, { type: 'told', via: from }, from)
      return
    case 'dead':
      claimDead(swim, message, from)
      return
    case 'user':
      swim.upper.userMessage(message.bytes)
      return
    default:
      assertNever(message)
  }
}

/** This process was not run for `ms`: what others may have said meanwhile is still to be heard. */
export function swimHeldUp(swim: Swim, ms: number): void {
  probeHeldUp(swim, ms)
  for (const suspicion of swim.suspicions.values()) {
    suspicion.startedAt += makeUpFor(suspicion.allowance, ms)
  }
  for (const relay of swim.relays.values()) {
    relay.deadline += ms
    if (relay.nackAt !== null) relay.nackAt += ms
  }
  for (const pending of swim.exchanges.values()) pending.deadline += ms
  // A shorter stop makes no answer late.
  if (ms >= swim.profile.probeTimeoutMs) swim.awareness.apply(1)
}

/** A suspect that had the time to refute and did not is dead. */
function suspicionTick(swim: Swim): void {
  for (const [name, suspicion] of swim.suspicions) {
    if (swim.now < deadlineOf(suspicion)) continue
    const member = swim.members.get(name)
    if (member === undefined) continue
    const { incarnation } = member
    claimDead(swim, { type: 'dead', incarnation, node: name, from: swim.self.name }, null)
  }
}
