/** Messages of the membership layer, which travel in the failure detector's user messages and push/pulls. */
import { assertNever } from '../../lib/assert.ts'
import type { SerfMessage, SerfPushPull, SerfQuery, UserEvent } from '../core/message.ts'
import { Fields, lamportMax, nameFrom, readFields, uint32Max, unsignedFrom } from './fields.ts'
import { isMap, type ReadBounds, type Value } from './msgpack.ts'
import { Writer } from './msgpack-writer.ts'
import { copyOf } from './text.ts'

const kind = {
  leave: 0,
  join: 1,
  pushPull: 2,
  event: 3,
  query: 4,
  queryResponse: 5,
  relay: 9,
} as const

/** Largest name and payload of an event or a query; serf itself allows 9 KiB at most. */
const payloadBytesMax = 64 * 1024
const filtersMax = 256
/** Lamport times with events in one push/pull; serf keeps 512. */
const eventTimesMax = 4096
const eventsMax = 256
const leftMembersMax = 65_536

/** A push/pull has two values for each member and some for each recent event. */
const serfBounds: ReadBounds = { valuesMax: 400_000, stringBytesMax: payloadBytesMax }

const flagAck = 1
const flagNoBroadcast = 2

export function encodeSerfMessage(message: SerfMessage): Uint8Array {
  const writer = new Writer()
  switch (message.type) {
    case 'leave-intent':
      writer.byte(kind.leave).map(3)
      writer.text('LTime').unsigned(message.time)
      writer.text('Node').text(message.node)
      writer.text('Prune').boolean(message.prune)
      break
    case 'join-intent':
      writer.byte(kind.join).map(2)
      writer.text('LTime').unsigned(message.time)
      writer.text('Node').text(message.node)
      break
    case 'serf-push-pull':
      writePushPull(writer, message)
      break
    case 'user-event':
      writer.byte(kind.event).map(4)
      writer.text('CC').boolean(message.coalesce)
      writer.text('LTime').unsigned(message.time)
      writer.text('Name').text(message.name)
      writer.text('Payload').raw(message.payload)
      break
    case 'query':
      writeQuery(writer, message)
      break
    case 'query-response':
      writer.byte(kind.queryResponse).map(5)
      writer.text('Flags').unsigned(message.flags)
      writer.text('From').text(message.from)
      writer.text('ID').unsigned(message.id)
      writer.text('LTime').unsigned(message.time)
      writer.text('Payload').raw(message.payload)
      break
    case 'relay':
      writer.byte(kind.relay).map(2)
      writer.text('DestAddr').map(3)
      writer.text('IP').raw(message.destination.address)
      writer.text('Port').unsigned(message.destination.port)
      writer.text('Zone').text('')
      writer.text('DestName').text(message.node)
      writer.append(message.bytes)
      break
    default:
      assertNever(message)
  }
  return writer.finish()
}

/** Null when the bytes are no message, or one with a field out of its range. */
export function decodeSerfMessage(bytes: Uint8Array): SerfMessage | null {
  const [first] = bytes
  const read = readFields(bytes, 1, serfBounds)
  if (first === undefined || read === null) return null
  const { fields, next } = read
  const message =
    first === kind.relay ? relayFrom(fields, bytes.subarray(next)) : messageFrom(first, fields)
  return fields.valid ? message : null
}

function messageFrom(first: number, fields: Fields): SerfMessage | null {
  const time = fields.unsigned('LTime', lamportMax)
  switch (first) {
    case kind.leave:
      return {
        type: 'leave-intent',
        time,
        node: fields.name('Node'),
        prune: fields.boolean('Prune'),
      }
    case kind.join:
      return { type: 'join-intent', time, node: fields.name('Node') }
    case kind.pushPull:
      return pushPullFrom(time, fields)
    case kind.event:
      return {
        type: 'user-event',
        time,
        name: fields.text('Name', payloadBytesMax),
        payload: fields.bytes('Payload', payloadBytesMax),
        coalesce: fields.boolean('CC'),
      }
    case kind.query:
      return queryFrom(time, fields)
    case kind.queryResponse:
      return {
        type: 'query-response',
        time,
        id: fields.unsigned('ID', uint32Max),
        from: fields.name('From'),
        flags: fields.unsigned('Flags', uint32Max),
        payload: fields.bytes('Payload', payloadBytesMax),
      }
    default:
      return null
  }
}

function relayFrom(fields: Fields, bytes: Uint8Array): SerfMessage {
  const destination = new Fields(fields.map('DestAddr'))
  const endpoint = destination.endpoint('IP', 'Port')
  if (!destination.valid) fields.valid = false
  return {
    type: 'relay',
    destination: endpoint,
    node: fields.nameOrEmpty('DestName'),
    bytes: copyOf(bytes),
  }
}

function writeQuery(writer: Writer, query: SerfQuery): void {
  const flags = (query.wantsAck ? flagAck : 0) | (query.noBroadcast ? flagNoBroadcast : 0)
  writer.byte(kind.query).map(11)
  writer.text('Addr').raw(query.endpoint.address)
  writer.text('Filters').array(query.filters.length)
  for (const filter of query.filters) writer.raw(filter)
  writer.text('Flags').unsigned(flags)
  writer.text('ID').unsigned(query.id)
  writer.text('LTime').unsigned(query.time)
  writer.text('Name').text(query.name)
  writer.text('Payload').raw(query.payload)
  writer.text('Port').unsigned(query.endpoint.port)
  writer.text('RelayFactor').unsigned(query.relayFactor)
  writer.text('SourceNode').text(query.sourceNode)
  writer.text('Timeout').unsigned(query.timeoutNs)
}

function queryFrom(time: number, fields: Fields): SerfQuery {
  const flags = fields.unsigned('Flags', uint32Max)
  const filters: Uint8Array[] = []
  for (const filter of fields.list('Filters', filtersMax)) {
    if (filter instanceof Uint8Array) filters.push(copyOf(filter))
    else fields.valid = false
  }
  return {
    type: 'query',
    time,
    id: fields.unsigned('ID', uint32Max),
    endpoint: fields.endpoint('Addr', 'Port'),
    sourceNode: fields.nameOrEmpty('SourceNode'),
    filters,
    wantsAck: (flags & flagAck) !== 0,
    noBroadcast: (flags & flagNoBroadcast) !== 0,
    relayFactor: fields.unsigned('RelayFactor', 255),
    timeoutNs: fields.unsigned('Timeout', Number.MAX_SAFE_INTEGER),
    name: fields.text('Name', payloadBytesMax),
    payload: fields.bytes('Payload', payloadBytesMax),
  }
}

function writePushPull(writer: Writer, message: SerfPushPull): void {
  writer.byte(kind.pushPull).map(6)
  writer.text('EventLTime').unsigned(message.eventTime)
  writer.text('Events').array(message.events.length)
  for (const { time, events } of message.events) {
    writer.map(2).text('LTime').unsigned(time)
    writer.text('Events').array(events.length)
    for (const { name, payload } of events) {
      writer.map(2).text('Name').text(name)
      writer.text('Payload').raw(payload)
    }
  }
  writer.text('LTime').unsigned(message.time)
  writer.text('LeftMembers').array(message.leftMembers.length)
  for (const name of message.leftMembers) writer.text(name)
  writer.text('QueryLTime').unsigned(message.queryTime)
  writer.text('StatusLTimes').map(message.statusTimes.size)
  for (const [name, time] of message.statusTimes) writer.text(name).unsigned(time)
}

/** An entry that is not what it should be is left out: one bad entry must not keep the rest from us. */
function pushPullFrom(time: number, fields: Fields): SerfPushPull {
  const statusTimes = new Map<string, number>()
  for (const [key, value] of fields.map('StatusLTimes')) {
    const name = nameFrom(Buffer.from(key))
    const statusTime = unsignedFrom(value, lamportMax)
    if (name !== null && statusTime !== null) statusTimes.set(name, statusTime)
  }
  return {
    type: 'serf-push-pull',
    time,
    statusTimes,
    leftMembers: fields.list('LeftMembers', leftMembersMax).flatMap((value) => {
      const name = nameFrom(value)
      return name === null ? [] : [name]
    }),
    eventTime: fields.unsigned('EventLTime', lamportMax),
    events: fields.list('Events', eventTimesMax).flatMap(eventsFrom),
    queryTime: fields.unsigned('QueryLTime', lamportMax),
  }
}

function eventsFrom(value: Value): SerfPushPull['events'] {
  if (!isMap(value)) return []
  const fields = new Fields(value)
  const time = fields.unsigned('LTime', lamportMax)
  const events = fields.list('Events', eventsMax).flatMap(eventFrom)
  return fields.valid && events.length > 0 ? [{ time, events }] : []
}

function eventFrom(value: Value): readonly UserEvent[] {
  if (!isMap(value)) return []
  const fields = new Fields(value)
  const name = fields.text('Name', payloadBytesMax)
  const payload = fields.bytes('Payload', payloadBytesMax)
  return fields.valid ? [{ name, payload }] : []
}
