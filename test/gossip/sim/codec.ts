/**
 * Bytes without bytes: messages of the upper layer travel as objects, remembered beside an array of about the right
 * length, so that packets fill up as they would on the wire.
 */
import type { PacketMessage, SerfMessage } from '../../../src/gossip/core/message.ts'
import type { Codec } from '../../../src/gossip/core/state.ts'
import { decodeCoordinate, encodeCoordinate } from '../../../src/gossip/wire/coordinate.ts'

const meanings = new WeakMap<Uint8Array, SerfMessage>()

export const simCodec: Codec = {
  sizeOf,
  encode(message) {
    const bytes = new Uint8Array(lengthOf(message))
    meanings.set(bytes, message)
    return bytes
  },
  decode: (bytes) => meanings.get(bytes) ?? null,
  encodeTags: (tags) =>
    tags.size === 0 ? new Uint8Array() : new TextEncoder().encode(JSON.stringify([...tags])),
  decodeTags(meta) {
    if (meta.length === 0) return new Map()
    const pairs: unknown = JSON.parse(new TextDecoder().decode(meta))
    return new Map(pairs as [string, string][])
  },
  encodeCoordinate,
  decodeCoordinate,
  matches: () => true,
}

function sizeOf(message: PacketMessage): number {
  switch (message.type) {
    case 'ping':
      return 60 + message.node.length + (message.source?.node.length ?? 0)
    case 'indirect-ping':
      return 85 + message.node.length + (message.source?.node.length ?? 0)
    case 'ack':
      return 20 + (message.payload?.length ?? 0)
    case 'nack':
      return 12
    case 'alive':
      return 60 + message.node.length + message.meta.length
    case 'suspect':
    case 'dead':
      return 32 + message.node.length + message.from.length
    case 'user':
      return 1 + message.bytes.length
  }
}

function lengthOf(message: SerfMessage): number {
  switch (message.type) {
    case 'join-intent':
    case 'leave-intent':
      return 22 + message.node.length
    case 'user-event':
      return 40 + message.name.length + message.payload.length
    case 'query':
      return 140 + message.name.length + message.payload.length
    case 'query-response':
      return 40 + message.from.length + message.payload.length
    case 'relay':
      return 30 + message.bytes.length
    case 'serf-push-pull':
      return 100 + message.statusTimes.size * 20
  }
}
