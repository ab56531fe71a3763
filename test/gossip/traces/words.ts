/** What members of a pool say and see, as lines that a person reads: one wording for each message and event. */
import { assertNever } from '../../../src/lib/assert.ts'
import type { PacketMessage, PushPull } from '../../../src/gossip/core/message.ts'
import type { GossipEvent } from '../../../src/gossip/core/ready.ts'
import { simCodec } from '../sim/codec.ts'

/** `@2` is an incarnation, `~3` a Lamport time. Sequence numbers begin anywhere, and are not told. */
export function messageText(message: PacketMessage): string {
  switch (message.type) {
    case 'ping':
      return `ping, are you ${message.node}?`
    case 'indirect-ping':
      return `ping ${message.node} for me`
    case 'ack':
      return 'ack'
    case 'nack':
      return 'nack: no answer yet'
    case 'alive':
      return `${message.node}@${message.incarnation} is alive`
    case 'suspect':
      return `${message.node}@${message.incarnation} is suspect, says ${message.from}`
    case 'dead': {
      const what = message.node === message.from ? 'has left' : `is dead, says ${message.from}`
      return `${message.node}@${message.incarnation} ${what}`
    }
    case 'user': {
      const carried = simCodec.decode(message.bytes)
      if (carried?.type === 'join-intent') return `${carried.node} joins ~${carried.time}`
      if (carried?.type === 'leave-intent') return `${carried.node} leaves ~${carried.time}`
      return carried === null ? 'bytes' : carried.type
    }
    default:
      return assertNever(message)
  }
}

export function stateText({ nodes }: PushPull): string {
  return nodes.map(({ name, incarnation, state }) => `${name}@${incarnation} ${state}`).join(', ')
}

/** Null: not told in a trace. */
export function eventText(event: GossipEvent): string | null {
  switch (event.type) {
    case 'member-joined':
      return event.before === null
        ? `sees ${event.member.name} join`
        : `sees ${event.member.name} come back`
    case 'member-leaving':
      return `sees that ${event.member.name} is leaving`
    case 'member-failed':
      return `takes ${event.member.name} for failed`
    case 'member-left':
      return `sees that ${event.member.name} left`
    case 'member-suspected':
      return `suspects ${event.member.name}`
    case 'member-trusted':
      return `trusts ${event.member.name} again`
    case 'member-reach':
      return `reaches ${event.member.name}: ${event.member.reach}`
    case 'refuted':
      return `objects to ${event.by}: it lives, now @${event.incarnation}`
    case 'joined-through':
      return event.error === null ? 'joined' : `could not join: ${event.error}`
    case 'left-pool':
      return 'has left, and may stop'
    default:
      return null
  }
}
