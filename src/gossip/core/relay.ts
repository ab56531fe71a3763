/**
 * Pings on behalf of others: the answer goes back under the asker's number, and in time a word that there is none yet.
 *
 * That word must be with the asker before it judges, or it blames itself for the silence of the dead: so it goes when
 * four fifths of the time have passed (Lifeguard, section IV.A), while an answer is still passed on until the end.
 *
 * Bounded by `relaysMax`; above it the request is refused in silence, which costs the asker one helper.
 */
import type { Endpoint, PacketMessage } from './message.ts'
import { sourceOf } from './probe.ts'
import { send } from './dissemination.ts'
import { nextSequence, type Swim } from './state.ts'

export const relaysMax = 512
const nackShare = 0.8

export function startRelay(
  swim: Swim,
  request: Extract<PacketMessage, { readonly type: 'indirect-ping' }>,
  from: Endpoint,
): void {
  const { relays, profile, now } = swim
  if (relays.size >= relaysMax) {
    swim.counters.relaysRefused += 1
    return
  }
  const sequence = nextSequence(swim)
  relays.set(sequence, {
    asker: request.source?.endpoint ?? from,
    askerSequence: request.sequence,
    nackAt: request.wantsNack ? now + nackShare * profile.probeTimeoutMs : null,
    deadline: now + profile.probeTimeoutMs,
  })
  send(swim, { endpoint: request.target, member: swim.members.get(request.node) ?? null }, [
    { type: 'ping', sequence, node: request.node, source: sourceOf(swim) },
  ])
}

/** True: the sequence belongs to a relayed ping, whose asker now has its answer. */
export function relayAnswered(swim: Swim, sequence: number): boolean {
  const relay = swim.relays.get(sequence)
  if (relay === undefined) return false
  swim.relays.delete(sequence)
  send(swim, { endpoint: relay.asker, member: null }, [
    { type: 'ack', sequence: relay.askerSequence, payload: null },
  ])
  return true
}

export function relayTick(swim: Swim): void {
  for (const [sequence, relay] of swim.relays) {
    if (swim.now >= relay.deadline) swim.relays.delete(sequence)
    if (relay.nackAt === null || swim.now < relay.nackAt) continue
    relay.nackAt = null
    send(swim, { endpoint: relay.asker, member: null }, [
      { type: 'nack', sequence: relay.askerSequence },
    ])
  }
}

export function relayDeadline(swim: Swim): number {
  let deadline = Infinity
  for (const relay of swim.relays.values()) {
    deadline = Math.min(deadline, relay.nackAt ?? relay.deadline)
  }
  return deadline
}
