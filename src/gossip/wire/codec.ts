/** The failure detector's messages as the elements of a packet: one byte of kind, then a map of named fields. */
import { assertNever } from '../../lib/assert.ts'
import { metaBytesMax, type PacketMessage, type Source, type Versions } from '../core/message.ts'
import { readFields, uint32Max, type Fields } from './fields.ts'
import { kind } from './kinds.ts'
import type { ReadBounds } from './msgpack.ts'
import { Writer } from './msgpack-writer.ts'
import { copyOf } from './text.ts'

/** An ack carries a network coordinate at most, about 120 bytes. */
const ackPayloadBytesMax = 4 * 1024

/** For one message; its known fields are eight at most, so there is room for those of later versions. */
export const messageBounds: ReadBounds = { valuesMax: 128, stringBytesMax: 64 * 1024 }

/** Fields go in the order of their names, as the other programs write them; any order is read. */
export function encodeMessage(message: PacketMessage): Uint8Array {
  const writer = new Writer()
  switch (message.type) {
    case 'ping':
      writer.byte(kind.ping).map(2 + sourceFields(message.source))
      writer.text('Node').text(message.node)
      writer.text('SeqNo').unsigned(message.sequence)
      writeSource(writer, message.source)
      return writer.finish()
    case 'indirect-ping':
      writer.byte(kind.indirectPing).map(5 + sourceFields(message.source))
      writer.text('Nack').boolean(message.wantsNack)
      writer.text('Node').text(message.node)
      writer.text('Port').unsigned(message.target.port)
      writer.text('SeqNo').unsigned(message.sequence)
      writeSource(writer, message.source)
      writer.text('Target').raw(message.target.address)
      return writer.finish()
    case 'ack':
      writer.byte(kind.ack).map(2)
      writer.text('Payload').rawOrNil(message.payload)
      writer.text('SeqNo').unsigned(message.sequence)
      return writer.finish()
    case 'nack':
      return writer.byte(kind.nack).map(1).text('SeqNo').unsigned(message.sequence).finish()
    case 'suspect':
    case 'dead':
      writer.byte(kind[message.type]).map(3)
      writer.text('From').text(message.from)
      writer.text('Incarnation').unsigned(message.incarnation)
      writer.text('Node').text(message.node)
      return writer.finish()
    case 'alive':
      writer.byte(kind.alive).map(6)
      writer.text('Addr').raw(message.endpoint.address)
      writer.text('Incarnation').unsigned(message.incarnation)
      writer.text('Meta').raw(message.meta)
      writer.text('Node').text(message.node)
      writer.text('Port').unsigned(message.endpoint.port)
      writeVersions(writer, message.versions)
      return writer.finish()
    case 'user':
      return writer.byte(kind.user).append(message.bytes).finish()
    default:
      return assertNever(message)
  }
}

/** How many bytes a message takes in a packet, without what a compound adds. */
export function messageBytes(message: PacketMessage): number {
  return message.type === 'user' ? message.bytes.length + 1 : encodeMessage(message).length
}

/** Null when the bytes are no message, or one with a field out of its range. Bytes after the map are not looked at. */
export function decodeMessage(bytes: Uint8Array): PacketMessage | null {
  const [first] = bytes
  if (first === kind.user) return { type: 'user', bytes: copyOf(bytes.subarray(1)) }
  if (first === undefined) return null
  const read = readFields(bytes, 1, messageBounds)
  return read === null ? null : messageFrom(first, read.fields)
}

/** The message of a kind from its fields. */
export function messageFrom(
  first: number,
  fields: Fields,
): Exclude<PacketMessage, { readonly type: 'user' }> | null {
  const message = fieldsOf(first, fields)
  return fields.valid ? message : null
}

function fieldsOf(
  first: number,
  fields: Fields,
): Exclude<PacketMessage, { readonly type: 'user' }> | null {
  switch (first) {
    case kind.ping:
      return {
        type: 'ping',
        sequence: fields.unsigned('SeqNo', uint32Max),
        node: fields.nameOrEmpty('Node'),
        source: fields.source(),
      }
    case kind.indirectPing:
      return {
        type: 'indirect-ping',
        sequence: fields.unsigned('SeqNo', uint32Max),
        target: fields.endpoint('Target', 'Port'),
        node: fields.nameOrEmpty('Node'),
        wantsNack: fields.boolean('Nack'),
        source: fields.source(),
      }
    case kind.ack:
      return {
        type: 'ack',
        sequence: fields.unsigned('SeqNo', uint32Max),
        payload: fields.bytesOrNull('Payload', ackPayloadBytesMax),
      }
    case kind.nack:
      return { type: 'nack', sequence: fields.unsigned('SeqNo', uint32Max) }
    case kind.suspect:
    case kind.dead:
      return {
        type: first === kind.suspect ? 'suspect' : 'dead',
        incarnation: fields.unsigned('Incarnation', uint32Max),
        node: fields.name('Node'),
        from: fields.nameOrEmpty('From'),
      }
    case kind.alive:
      return {
        type: 'alive',
        incarnation: fields.unsigned('Incarnation', uint32Max),
        node: fields.name('Node'),
        endpoint: fields.endpoint('Addr', 'Port'),
        meta: fields.bytes('Meta', metaBytesMax),
        versions: fields.versions('Vsn'),
      }
    default:
      return null
  }
}

/** One field, `Vsn`. */
export function writeVersions(writer: Writer, versions: Versions | null): void {
  writer.text('Vsn')
  if (versions === null) {
    writer.nil()
    return
  }
  writer.raw(
    Uint8Array.of(
      versions.protocolMin,
      versions.protocolMax,
      versions.protocolCurrent,
      versions.delegateMin,
      versions.delegateMax,
      versions.delegateCurrent,
    ),
  )
}

function sourceFields(source: Source | null): number {
  if (source === null) return 0
  return source.node === '' ? 2 : 3
}

function writeSource(writer: Writer, source: Source | null): void {
  if (source === null) return
  writer.text('SourceAddr').raw(source.endpoint.address)
  if (source.node !== '') writer.text('SourceNode').text(source.node)
  writer.text('SourcePort').unsigned(source.endpoint.port)
}
