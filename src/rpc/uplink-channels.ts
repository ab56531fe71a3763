/**
 * Streams of frames over one connection that carries messages: the calls of both sides, and every streamed call, have a
 * channel each. A channel is opened by either side, and by the order of its messages alone it is known what it is in.
 *
 * A message is a byte that says what it is, four bytes of the channel's number, and the rest. A long frame leaves in pieces,
 * so that it holds up no other channel, and so that a connection's reader needs room for one piece.
 *
 * The invariant: whatever the other side sends, what is held here of it stays below the bounds, and the first message that
 * cannot be true ends the connection.
 */
import { MusterError } from '../lib/errors.ts'
import type { FrameStream } from '../wire/stream.ts'

/** Messages both ways, whole and in order; `api/message-socket.ts` has its form on WebSockets. */
export interface MessageSocket {
  /** Called once. */
  start(handlers: MessageHandlers): void
  /** False: it is full, wait for `onDrain`. */
  send(message: Uint8Array): boolean
  /** What was sent is delivered if the other side reads it soon. `onGone`: it has, or did not in time. */
  close(reason: string, onGone?: () => void): void
  /** Reads nothing more for now; what was read already still comes. */
  pause(): void
  resume(): void
}

export type MessageHandlers = {
  readonly onMessage: (message: Buffer) => void
  readonly onDrain: () => void
  /** Once; nothing comes after it. */
  readonly onClose: (reason: string) => void
}

export type ChannelKind = 'calls' | 'stream'

const types = { open: 1, frame: 2, piece: 3, end: 4 } as const
const kinds: readonly ChannelKind[] = ['calls', 'stream']
const headBytes = 5
/** Of a frame, in one message. */
export const pieceBytesMax = 256 * 1024
/** What a connection's reader must take. */
export const messageBytesMax = pieceBytesMax + headBytes
const reasonLengthMax = 200
const channelMax = 2 ** 32 - 1
/** What may be on its way when a stream is closed here: a whole window of its smallest items. */
const lateMax = 4_096
/** Streams that were closed here, of which late messages are known. */
const lateStreamsMax = 256
/** `agent` opens the odd ones. */
const firstNumbers = { agent: 1, server: 2 } as const

export type ChannelsOptions = {
  readonly side: 'agent' | 'server'
  /** Who is at the other end, for logs. */
  readonly peer: string
  /** Bytes of one frame that came: on a channel that was opened here, and on one that the other side opened. */
  readonly frameBytesMax: { readonly own: number; readonly other: number }
  /** Channels that the other side has open. */
  readonly channelsMax: number
  /** Asked for each message that the other side sends of its own: throws when there are too many. */
  readonly admit: () => void
  /** Told of each message, and its bytes, on streams that were opened here: how fast they come is for the reader to say. */
  readonly onAsked: (bytes: number) => void
  /** The other side opened it. */
  readonly onChannel: (kind: ChannelKind, stream: FrameStream) => void
  /** What came cannot be true. The connection has been closed. */
  readonly onBroken: (error: unknown) => void
  readonly onClose: (reason: string) => void
}

type StreamHandlers = Parameters<FrameStream['start']>[0]

export class Channels {
  readonly #socket: MessageSocket
  readonly #options: ChannelsOptions
  readonly #open = new Map<number, Channel>()
  /** Streams that were opened here and are open. */
  readonly #asked = new Set<number>()
  /** Of those that were closed here: how many messages may still be on their way. */
  readonly #late = new Map<number, number>()
  #others = 0
  #next: number
  /** The last one that the other side opened. */
  #last = 0
  #closedBy: string | null = null

  constructor(socket: MessageSocket, options: ChannelsOptions) {
    this.#socket = socket
    this.#options = options
    this.#next = firstNumbers[options.side]
    socket.start({
      onMessage: (message) => this.#onMessage(message),
      onDrain: () => {
        for (const channel of this.#open.values()) channel.drained()
      },
      onClose: (reason) => this.#end(reason),
    })
  }

  get open(): boolean {
    return this.#closedBy === null
  }

  /** Streams that were opened here and are open. */
  get ownStreams(): number {
    return this.#asked.size
  }

  /** Throws `unavailable` once the connection is gone. */
  openChannel(kind: ChannelKind): FrameStream {
    if (this.#closedBy !== null) throw new MusterError('unavailable', this.#closedBy)
    const number = this.#next
    this.#next += 2
    if (kind === 'stream') this.#asked.add(number)
    const channel = this.#add(number, true, (isByOther) => {
      if (this.#asked.delete(number) && !isByOther) this.#closedAsked(number)
    })
    this.#socket.send(messageOf(types.open, number, Buffer.of(kinds.indexOf(kind))))
    return channel
  }

  /** `onGone`: as of `MessageSocket`. */
  close(reason: string, onGone?: () => void): void {
    if (this.#closedBy !== null) {
      onGone?.()
      return
    }
    this.#socket.close(reason, onGone)
    this.#end(reason)
  }

  #closedAsked(number: number): void {
    this.#late.set(number, lateMax)
    if (this.#late.size <= lateStreamsMax) return
    for (const [oldest] of this.#late) {
      this.#late.delete(oldest)
      return
    }
  }

  #add(number: number, isOwn: boolean, onClosed: (isByOther: boolean) => void): Channel {
    const { peer, frameBytesMax } = this.#options
    const channel = new Channel({
      peer,
      frameBytesMax: isOwn ? frameBytesMax.own : frameBytesMax.other,
      send: (type, payload) => this.#socket.send(messageOf(type, number, payload)),
      onClosed: (isByOther) => {
        if (this.#open.delete(number)) onClosed(isByOther)
      },
    })
    this.#open.set(number, channel)
    return channel
  }

  #end(reason: string): void {
    if (this.#closedBy !== null) return
    this.#closedBy = reason
    for (const channel of this.#open.values()) channel.gone(reason)
    this.#options.onClose(reason)
  }

  #onMessage(message: Buffer): void {
    if (this.#closedBy !== null) return
    try {
      if (this.#isAsked(message)) this.#options.onAsked(message.length)
      else this.#options.admit()
      this.#take(message)
    } catch (error) {
      const { onBroken } = this.#options
      onBroken(error)
      this.close(error instanceof MusterError ? error.message : 'a message cannot be read')
    }
  }

  /** Whether it is on a stream that was opened here, or was on its way when that was closed here. */
  #isAsked(message: Buffer): boolean {
    if (message.length < headBytes) return false
    const number = message.readUInt32BE(1)
    if (this.#asked.has(number)) return true
    const left = this.#late.get(number)
    if (left === undefined) return false
    if (left > 1 && message.readUInt8(0) !== types.end) this.#late.set(number, left - 1)
    else this.#late.delete(number)
    return true
  }

  #take(message: Buffer): void {
    if (message.length < headBytes) throw corrupt(`a message has ${message.length} bytes`)
    const type = message.readUInt8(0)
    const number = message.readUInt32BE(1)
    const payload = message.subarray(headBytes)
    if (type === types.open) {
      this.#opened(number, payload)
      return
    }
    const isOwn = number % 2 === firstNumbers[this.#options.side] % 2
    if (number === 0 || number >= (isOwn ? this.#next : this.#last + 1)) {
      throw corrupt(`a message is for channel ${number}, which nobody opened`)
    }
    // One that is closed here: what was on its way is of no use any more.
    const channel = this.#open.get(number)
    switch (type) {
      case types.frame:
        channel?.received(payload, true)
        return
      case types.piece:
        channel?.received(payload, false)
        return
      case types.end:
        channel?.gone(payload.toString('utf8', 0, reasonLengthMax), true)
        return
      default:
        throw corrupt(`a message is of the unknown type ${type}`)
    }
  }

  #opened(number: number, payload: Buffer): void {
    const { side, channelsMax, onChannel } = this.#options
    const kind = payload.length === 1 ? kinds[payload.readUInt8(0)] : undefined
    const isOwn = number % 2 === firstNumbers[side] % 2
    if (kind === undefined || isOwn || number <= this.#last || number >= channelMax) {
      throw corrupt(`channel ${number} cannot be opened, the last one was ${this.#last}`)
    }
    this.#last = number
    if (this.#others >= channelsMax) throw corrupt(`more than ${channelsMax} channels are open`)
    this.#others += 1
    const channel = this.#add(number, false, () => {
      this.#others -= 1
    })
    onChannel(kind, channel)
  }
}

type ChannelOptions = {
  readonly peer: string
  readonly frameBytesMax: number
  readonly send: (type: number, payload: Uint8Array) => boolean
  readonly onClosed: (isByOther: boolean) => void
}

class Channel implements FrameStream {
  readonly peer: { readonly id: string }
  readonly #options: ChannelOptions
  #handlers: StreamHandlers | null = null
  #pieces: Buffer[] = []
  #pieceBytes = 0
  #closedBy: string | null = null

  constructor(options: ChannelOptions) {
    this.peer = { id: options.peer }
    this.#options = options
  }

  get open(): boolean {
    return this.#closedBy === null
  }

  start(handlers: StreamHandlers): void {
    this.#handlers = handlers
    if (this.#closedBy !== null) handlers.onClose(this.#closedBy)
  }

  write(frame: Buffer): boolean {
    if (this.#closedBy !== null) return false
    const { send } = this.#options
    let from = 0
    for (; frame.length - from > pieceBytesMax; from += pieceBytesMax) {
      send(types.piece, frame.subarray(from, from + pieceBytesMax))
    }
    return send(types.frame, from === 0 ? frame : frame.subarray(from))
  }

  close(reason: string): void {
    if (this.#closedBy !== null) return
    this.#options.send(types.end, Buffer.from(reason.slice(0, reasonLengthMax)))
    this.gone(reason)
  }

  /** Messages are delivered in order: what was written comes before the end. */
  finish(reason: string): void {
    this.close(reason)
  }

  gone(reason: string, isByOther = false): void {
    if (this.#closedBy !== null) return
    this.#closedBy = reason
    this.#pieces = []
    this.#options.onClosed(isByOther)
    this.#handlers?.onClose(reason)
  }

  drained(): void {
    this.#handlers?.onDrain()
  }

  /** Throws `corrupt` for a frame beyond the bound. */
  received(payload: Buffer, isWhole: boolean): void {
    const { frameBytesMax } = this.#options
    this.#pieceBytes += payload.length
    if (this.#pieceBytes > frameBytesMax || payload.length > pieceBytesMax) {
      throw corrupt(`a frame takes over ${frameBytesMax} bytes`)
    }
    if (!isWhole) {
      // Each is as large as it may be, so that they are few.
      if (payload.length !== pieceBytesMax) {
        throw corrupt(`a piece has ${payload.length} bytes instead of ${pieceBytesMax}`)
      }
      this.#pieces.push(payload)
      return
    }
    const frame = this.#pieces.length === 0 ? payload : Buffer.concat([...this.#pieces, payload])
    this.#pieces = []
    this.#pieceBytes = 0
    this.#handlers?.onFrame(frame)
  }
}

function messageOf(type: number, number: number, payload: Uint8Array): Buffer {
  const message = Buffer.allocUnsafe(headBytes + payload.length)
  message.writeUInt8(type, 0)
  message.writeUInt32BE(number, 1)
  message.set(payload, headBytes)
  return message
}

function corrupt(text: string): MusterError {
  return new MusterError('corrupt', text)
}
