/**
 * The payload of a user event as agents of Consul write it, and the prefix of its name, which keeps it apart from events of
 * serf's own users.
 */
import { readFields } from './fields.ts'
import type { ReadBounds } from './msgpack.ts'
import { Writer } from './msgpack-writer.ts'
import { textBytes } from './text.ts'

export type ConsulEvent = {
  readonly id: string
  readonly name: string
  readonly payload: Uint8Array
  /** Regular expressions; empty: none. An agent that does not match does not keep the event. */
  readonly nodeFilter: string
  readonly serviceFilter: string
  readonly tagFilter: string
  readonly version: number
}

const namePrefix = 'consul:event:'
const bounds: ReadBounds = { valuesMax: 64, stringBytesMax: 9 * 1024 }
const idBytesMax = 64
const textBytesMax = 1024
const payloadBytesMax = 9 * 1024
const versionMax = 255

/** As gossip carries it. */
export function encodeConsulEvent(event: ConsulEvent): { name: string; payload: Uint8Array } {
  const { id, name, payload, nodeFilter, serviceFilter, tagFilter, version } = event
  const optional: (readonly [key: string, bytes: Uint8Array])[] = [
    ['p', payload],
    ['nf', textBytes(nodeFilter)],
    ['sf', textBytes(serviceFilter)],
    ['tf', textBytes(tagFilter)],
  ]
  const there = optional.filter(([, bytes]) => bytes.length > 0)
  const writer = new Writer().map(3 + there.length)
  writer.text('ID').text(id).text('n').text(name).text('v').unsigned(version)
  for (const [key, bytes] of there) writer.text(key).raw(bytes)
  return { name: `${namePrefix}${name}`, payload: writer.finish() }
}

/** Null for a user event of another kind, and for bytes that are none. The name counts, not what the payload says of it. */
export function decodeConsulEvent(name: string, payload: Uint8Array): ConsulEvent | null {
  if (!name.startsWith(namePrefix)) return null
  const read = readFields(payload, 0, bounds)
  if (read === null) return null
  const { fields } = read
  const event = {
    id: fields.text('ID', idBytesMax),
    name: name.slice(namePrefix.length),
    payload: fields.bytes('p', payloadBytesMax),
    nodeFilter: fields.text('nf', textBytesMax),
    serviceFilter: fields.text('sf', textBytesMax),
    tagFilter: fields.text('tf', textBytesMax),
    version: fields.unsigned('v', versionMax),
  }
  return fields.valid ? event : null
}
