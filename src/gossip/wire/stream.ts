/**
 * What goes over TCP: one message each way. From outside in: label (requests only), encryption with a length in front,
 * compression, one message. `StreamWire` writes and reads them for one node; what it refuses it counts.
 */
import { assertNever } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import type { StreamMessage } from '../core/message.ts'
import { encodeMessage, messageBounds, messageFrom } from './codec.ts'
import { compressedBounds, deflated, inflated } from './compression.ts'
import type { RefusalReason } from './counters.ts'
import { Fields, uint32Max } from './fields.ts'
import { sealedBytes } from './keyring.ts'
import { kind } from './kinds.ts'
import { labelBytes, labelHeader, readLabel, sameBytes } from './label.ts'
import { isMap, readValue, type Read } from './msgpack.ts'
import { Writer } from './msgpack-writer.ts'
import type { WireOptions } from './packet.ts'
import { elementBounds, elementBytesMax, PushPullReader, writePushPull } from './push-pull.ts'

/** Bytes of one message, compressed and not; the limit of memberlist. */
export const streamBytesMax = 20 * 1024 * 1024
const errorTextBytesMax = 4 * 1024
/** Kind and length before what is sealed. */
const sealHeaderBytes = 5
/** Label, seal and the envelope of compression around a message. */
const aroundBytesMax = 1024

/** A request begins with the label, an answer has none; both are sealed with it. */
export type StreamSide = 'request' | 'answer'

export type StreamRead =
  | { readonly type: 'incomplete' }
  | { readonly type: 'message'; readonly message: StreamMessage }
  | { readonly type: 'refused'; readonly reason: RefusalReason }

export class StreamWire {
  readonly #label: Uint8Array
  readonly #options: WireOptions

  /** Throws invalid_argument for a label over 255 bytes. */
  constructor(options: WireOptions) {
    this.#options = options
    this.#label = labelBytes(options.label)
  }

  /** Everything to write on one side of a stream. Throws too_large for a message over 20 MiB. */
  encode(message: StreamMessage, side: StreamSide): Uint8Array {
    const plain = encodeStreamMessage(message)
    if (plain.length > streamBytesMax) {
      throw new MusterError(
        'too_large',
        `a gossip ${message.type} of ${plain.length} bytes; at most ${streamBytesMax} are sent`,
      )
    }
    const { keyring, compress } = this.#options
    const content = compress ? deflated(plain) : plain
    const label = side === 'request' ? labelHeader(this.#label) : new Uint8Array()
    if (keyring === null) return Buffer.concat([label, content])
    const head = Buffer.alloc(sealHeaderBytes)
    head[0] = kind.encrypted
    head.writeUInt32BE(sealedBytes(content.length), 1)
    return Buffer.concat([label, head, keyring.seal(content, this.#context(head))])
  }

  /** Reads one side of one stream. */
  decoder(side: StreamSide): StreamDecoder {
    return new StreamDecoder(this.#options, this.#label, side, (head) => this.#context(head))
  }

  #context(head: Uint8Array): Uint8Array {
    return Buffer.concat([head, this.#label])
  }
}

/** Fed with the chunks of one side as they come; there is one result, and it stays. */
export class StreamDecoder {
  readonly #options: WireOptions
  readonly #label: Uint8Array
  readonly #context: (head: Uint8Array) => Uint8Array
  #buffer: Uint8Array = new Uint8Array()
  #length = 0
  /** Where what follows the label begins; null until that is known. */
  #start: number | null
  #pushPull: PushPullReader | null = null
  #result: StreamRead = { type: 'incomplete' }

  constructor(
    options: WireOptions,
    label: Uint8Array,
    side: StreamSide,
    context: (head: Uint8Array) => Uint8Array,
  ) {
    this.#options = options
    this.#label = label
    this.#context = context
    this.#start = side === 'request' ? null : 0
  }

  /** Bytes received and kept. */
  get heldBytes(): number {
    return this.#length
  }

  feed(chunk: Uint8Array): StreamRead {
    if (this.#result.type !== 'incomplete') return this.#result
    if (this.#length + chunk.length > streamBytesMax + aroundBytesMax) {
      return this.#finish(refused('too-large'))
    }
    this.#append(chunk)
    return this.#finish(this.#read())
  }

  /** The other side sends no more. A stream without a single byte is not counted. */
  end(): StreamRead {
    if (this.#result.type !== 'incomplete' || this.#length === 0) return this.#result
    return this.#finish(refused('broken'))
  }

  /** Gives up a stream that cannot be read to its end, for a reason outside it. */
  refuse(reason: RefusalReason): StreamRead {
    return this.#result.type === 'incomplete' ? this.#finish(refused(reason)) : this.#result
  }

  #finish(result: StreamRead): StreamRead {
    this.#result = result
    if (result.type === 'incomplete') return result
    const { counters } = this.#options
    if (result.type === 'refused') {
      counters.streams.refused[result.reason] += 1
    } else {
      counters.streams.accepted += 1
      counters.membersLeftOut += this.#pushPull?.leftOut ?? 0
    }
    this.#buffer = new Uint8Array()
    this.#length = 0
    this.#pushPull = null
    return result
  }

  #append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length
    if (length > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(length, this.#buffer.length * 2))
      grown.set(this.#buffer.subarray(0, this.#length))
      this.#buffer = grown
    }
    this.#buffer.set(chunk, this.#length)
    this.#length = length
  }

  #read(): StreamRead {
    const bytes = this.#buffer.subarray(0, this.#length)
    if (this.#start === null) {
      if (bytes.length === 0) return incomplete
      const labelled = readLabel(bytes)
      if (labelled.type === 'incomplete') return incomplete
      if (labelled.type === 'broken') return refused('broken')
      if (!sameBytes(labelled.label, this.#label)) return refused('wrong-label')
      this.#start = labelled.next
    }
    const rest = bytes.subarray(this.#start)
    if (rest.length === 0) return incomplete
    const { keyring } = this.#options
    if (rest[0] === kind.encrypted) return this.#readSealed(rest)
    if (keyring !== null) return refused('plain')
    return this.#readContent(rest, { whole: false })
  }

  #readSealed(rest: Uint8Array): StreamRead {
    const { keyring } = this.#options
    if (keyring === null) return refused('wrong-key')
    if (rest.length < sealHeaderBytes) return incomplete
    const head = rest.subarray(0, sealHeaderBytes)
    const length = new DataView(head.buffer, head.byteOffset).getUint32(1)
    if (length > sealedBytes(streamBytesMax)) return refused('too-large')
    const end = sealHeaderBytes + length
    if (rest.length < end) return incomplete
    const plain = keyring.open(rest.subarray(sealHeaderBytes, end), this.#context(head))
    return plain === null ? refused('wrong-key') : this.#readContent(plain, { whole: true })
  }

  #readContent(bytes: Uint8Array, { whole }: { readonly whole: boolean }): StreamRead {
    if (bytes[0] !== kind.compressed) return ended(this.#readMessage(bytes), whole)
    const read = readValue(bytes, 1, compressedBounds(streamBytesMax))
    if (read.type === 'incomplete') return ended(incomplete, whole)
    if (read.type === 'broken') return refused('broken')
    const content = inflated(read.value, streamBytesMax)
    if (content === null) return refused('broken')
    if (content === 'too-large') return refused('too-large')
    return ended(this.#readMessage(content), true)
  }

  /** `bytes` begin as they did the last time and may be longer. */
  #readMessage(bytes: Uint8Array): StreamRead {
    const [first] = bytes
    switch (first) {
      case undefined:
        return incomplete
      case kind.pushPull: {
        this.#pushPull ??= new PushPullReader(1, streamBytesMax)
        const read = this.#pushPull.read(bytes)
        if (read.type === 'done') return { type: 'message', message: read.value }
        return read.type === 'incomplete' ? incomplete : refused(read.type)
      }
      case kind.user:
        return readUser(bytes)
      case kind.error:
        return readError(bytes)
      case kind.ping:
      case kind.ack: {
        const read = readValue(bytes, 1, messageBounds)
        if (read.type !== 'value' || !isMap(read.value)) return unread(read, bytes)
        const message = messageFrom(first, new Fields(read.value))
        if (message?.type !== 'ping' && message?.type !== 'ack') return refused('broken')
        return { type: 'message', message }
      }
      default:
        return refused('broken')
    }
  }
}

const incomplete: StreamRead = { type: 'incomplete' }

function refused(reason: RefusalReason): StreamRead {
  return { type: 'refused', reason }
}

/** Where no more bytes can come, what is not complete is broken. */
function ended(read: StreamRead, whole: boolean): StreamRead {
  return whole && read.type === 'incomplete' ? refused('broken') : read
}

/** For a first map that was not there as a whole. */
function unread(read: Read, bytes: Uint8Array): StreamRead {
  if (read.type !== 'incomplete') return refused('broken')
  return bytes.length > elementBytesMax ? refused('too-large') : incomplete
}

function readUser(bytes: Uint8Array): StreamRead {
  const read = readValue(bytes, 1, elementBounds)
  if (read.type !== 'value' || !isMap(read.value)) return unread(read, bytes)
  const fields = new Fields(read.value)
  const length = fields.unsigned('UserMsgLen', uint32Max)
  if (!fields.valid) return refused('broken')
  if (length > streamBytesMax) return refused('too-large')
  if (bytes.length < read.next + length) return incomplete
  const message = bytes.slice(read.next, read.next + length)
  return { type: 'message', message: { type: 'user', bytes: new Uint8Array(message) } }
}

function readError(bytes: Uint8Array): StreamRead {
  const read = readValue(bytes, 1, elementBounds)
  if (read.type !== 'value' || !isMap(read.value)) return unread(read, bytes)
  const fields = new Fields(read.value)
  const text = fields.text('Error', errorTextBytesMax)
  return fields.valid ? { type: 'message', message: { type: 'error', text } } : refused('broken')
}

function encodeStreamMessage(message: StreamMessage): Uint8Array {
  const writer = new Writer()
  switch (message.type) {
    case 'push-pull':
      writePushPull(writer, message)
      return writer.finish()
    case 'user':
      writer.byte(kind.user).map(1).text('UserMsgLen').unsigned(message.bytes.length)
      return writer.append(message.bytes).finish()
    case 'error':
      return writer.byte(kind.error).map(1).text('Error').text(message.text).finish()
    case 'ping':
    case 'ack':
      return encodeMessage(message)
    default:
      return assertNever(message)
  }
}
