/**
 * The body of a push/pull: a header, one map for each member, then the state of the layer above as it is. Nothing in
 * front says how long it is, so that it is read piece by piece as it comes.
 */
import {
  metaBytesMax,
  type MemberState,
  type PushPull,
  type PushPullNode,
} from '../core/message.ts'
import { writeVersions } from './codec.ts'
import { Fields, uint32Max } from './fields.ts'
import { kind } from './kinds.ts'
import { isMap, readValue, type ReadBounds, type ValueMap } from './msgpack.ts'
import type { Writer } from './msgpack-writer.ts'
import { copyOf } from './text.ts'

/** Members of one push/pull. */
export const pushPullNodesMax = 65_536
/** One map of the body, which is read again from its start when it was not whole; a member has about 900 at most. */
export const elementBytesMax = 8 * 1024
export const elementBounds: ReadBounds = { valuesMax: 128, stringBytesMax: 4 * 1024 }

/** By the number on the wire. */
const states: readonly MemberState[] = ['alive', 'suspect', 'dead', 'left']

export function writePushPull(writer: Writer, message: PushPull): void {
  const { nodes, userState, join } = message
  writer.byte(kind.pushPull).map(3)
  writer.text('Join').boolean(join)
  writer.text('Nodes').unsigned(nodes.length)
  writer.text('UserStateLen').unsigned(userState.length)
  for (const node of nodes) {
    writer.map(7)
    writer.text('Addr').raw(node.endpoint.address)
    writer.text('Incarnation').unsigned(node.incarnation)
    writer.text('Meta').raw(node.meta)
    writer.text('Name').text(node.name)
    writer.text('Port').unsigned(node.endpoint.port)
    writer.text('State').unsigned(states.indexOf(node.state))
    writeVersions(writer, node.versions)
  }
  writer.append(userState)
}

type Header = { readonly nodes: number; readonly userStateBytes: number; readonly join: boolean }

export type PieceRead<T> =
  | { readonly type: 'done'; readonly value: T }
  | { readonly type: 'incomplete' }
  | { readonly type: 'too-large' }
  | { readonly type: 'broken' }

/** Reads one push/pull out of a buffer that grows between calls. */
export class PushPullReader {
  /** Members left out for a field out of its range: one bad entry must not keep the rest from us. */
  leftOut = 0
  readonly #userStateBytesMax: number
  readonly #nodes: PushPullNode[] = []
  #header: Header | null = null
  #nodesRead = 0
  #offset: number

  /** `offset`: where the header begins. */
  constructor(offset: number, userStateBytesMax: number) {
    this.#offset = offset
    this.#userStateBytesMax = userStateBytesMax
  }

  /** `bytes` begin as they did the last time and may be longer. */
  read(bytes: Uint8Array): PieceRead<PushPull> {
    if (this.#header === null) {
      const element = this.#element(bytes)
      if (element.type !== 'done') return element
      const header = headerFrom(new Fields(element.value))
      if (header === null) return { type: 'broken' }
      if (header.nodes > pushPullNodesMax || header.userStateBytes > this.#userStateBytesMax) {
        return { type: 'too-large' }
      }
      this.#header = header
    }
    const { nodes, userStateBytes, join } = this.#header
    for (; this.#nodesRead < nodes; this.#nodesRead++) {
      const element = this.#element(bytes)
      if (element.type !== 'done') return element
      const node = nodeFrom(new Fields(element.value))
      if (node === null) this.leftOut += 1
      else this.#nodes.push(node)
    }
    const end = this.#offset + userStateBytes
    if (bytes.length < end) return { type: 'incomplete' }
    const userState = copyOf(bytes.subarray(this.#offset, end))
    return { type: 'done', value: { type: 'push-pull', nodes: this.#nodes, userState, join } }
  }

  #element(bytes: Uint8Array): PieceRead<ValueMap> {
    const read = readValue(bytes, this.#offset, elementBounds)
    if (read.type === 'incomplete') {
      return { type: bytes.length - this.#offset > elementBytesMax ? 'too-large' : 'incomplete' }
    }
    if (read.type === 'broken' || !isMap(read.value)) return { type: 'broken' }
    this.#offset = read.next
    return { type: 'done', value: read.value }
  }
}

function headerFrom(fields: Fields): Header | null {
  const header = {
    nodes: fields.unsigned('Nodes', uint32Max),
    userStateBytes: fields.unsigned('UserStateLen', uint32Max),
    join: fields.boolean('Join'),
  }
  return fields.valid ? header : null
}

function nodeFrom(fields: Fields): PushPullNode | null {
  const node = {
    name: fields.name('Name'),
    endpoint: fields.endpoint('Addr', 'Port'),
    meta: fields.bytes('Meta', metaBytesMax),
    incarnation: fields.unsigned('Incarnation', uint32Max),
    versions: fields.versions('Vsn'),
  }
  const state = states[fields.unsigned('State', states.length - 1)]
  return fields.valid && state !== undefined ? { ...node, state } : null
}
