/**
 * How news travels: with every packet that is sent anyway, and, while there is news, in packets of their own to a few
 * random members at the gossip interval.
 */
import { isGone, type Member } from './members.ts'
import type { Endpoint, PacketMessage } from './message.ts'
import { retransmitLimit, type Profile } from './profile.ts'
import type { Swim } from './state.ts'

/** Type and count of a compound, and the length before each of its elements. */
const compoundBytes = 2
const elementBytes = 2
/** The count of a compound is one byte. */
const elementsMax = 255
/** From this protocol version on a member reads checksums. */
const checksumProtocol = 5

/** News larger than this fits into no packet and would wait for ever. */
export function newsBytesMax(profile: Profile): number {
  return profile.packetBytesMax - compoundBytes - elementBytes
}

/** Sends to a member or an address; what room is left carries news. */
export function send(
  swim: Swim,
  to: { readonly endpoint: Endpoint; readonly member: Member | null },
  messages: readonly PacketMessage[],
): void {
  const { codec, profile } = swim
  let bytes = profile.packetBytesMax - compoundBytes
  for (const message of messages) bytes -= codec.sizeOf(message) + elementBytes
  const all = [...messages]
  addNews(swim, all, bytes)
  swim.counters.packetsSent += 1
  swim.counters.messagesSent += all.length
  for (const { type } of all) swim.sent[type] += 1
  swim.out.packets.push({
    to: to.endpoint,
    checksum: to.member !== null && to.member.versions.protocolMax >= checksumProtocol,
    messages: all,
  })
}

export function sendTo(swim: Swim, member: Member, messages: readonly PacketMessage[]): void {
  send(swim, { endpoint: member.endpoint, member }, messages)
}

/** Tells everybody about a member; older news about it is forgotten. */
export function broadcastClaim(swim: Swim, node: string, message: PacketMessage): void {
  swim.claims.add(node, message, swim.codec.sizeOf(message))
}

export function hasNews(swim: Swim): boolean {
  return swim.queues.some((queue) => queue.size > 0)
}

/** One round to a few members: the living, and the newly dead, who may object. */
export function gossip(swim: Swim): void {
  const { profile, members, self, now } = swim
  swim.gossipAt = now + profile.gossipIntervalMs
  if (!hasNews(swim)) return
  const targets = members.pick(profile.gossipFanout, (member) => {
    if (member === self || member.state === 'left') return false
    return !isGone(member) || now - member.stateChangedAt <= profile.gossipToDeadMs
  })
  for (const member of targets) {
    if (!hasNews(swim)) return
    sendTo(swim, member, [])
  }
}

function addNews(swim: Swim, into: PacketMessage[], bytes: number): void {
  const transmitsMax = retransmitLimit(swim.profile, swim.members.ringSize)
  let left = bytes
  for (const queue of swim.queues) {
    if (queue.size === 0) continue
    left = queue.take(into, left, {
      overhead: elementBytes,
      transmitsMax,
      countMax: elementsMax,
    })
  }
}
