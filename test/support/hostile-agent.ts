/** A client agent's end of an uplink that says what it likes: messages as bytes, frames of calls, and answers of any kind. */
import { openUplinkSocket, type UplinkRequest } from '../../src/client-agent/uplink-socket.ts'
import { systemClock } from '../../src/lib/clock.ts'
import {
  decodeCalls,
  encodeCalls,
  encodeValue,
  type CallFrame,
  type WireRequest,
  type WireResponse,
} from '../../src/rpc/link-codec.ts'
import {
  decodeStreamFrame,
  encodeStreamFrame,
  type StreamFrame,
} from '../../src/rpc/link-stream-codec.ts'
import { pieceBytesMax, type MessageSocket } from '../../src/rpc/uplink-channels.ts'
import { secretOf } from '../domains/nodes/agent.ts'

/** Types of messages, and kinds of channels. */
export const message = { open: 1, frame: 2, piece: 3, end: 4 } as const
export const kind = { calls: Buffer.of(0), stream: Buffer.of(1) } as const
/** Of its own calls. */
export const callsChannel = 1
const answeredMs = 10_000

export type Answer = { readonly value: unknown } | { readonly code: string; readonly text: string }

/** What the server asks of it: `reply` takes the bytes of a result, `fail` those of an error. */
export type Asked = {
  readonly channel: number
  readonly request: WireRequest
  readonly reply: (result: Buffer) => void
  readonly respond: (response: WireResponse) => void
}

/** A stream that the server opened. */
export type AskedStream = {
  readonly channel: number
  readonly request: WireRequest
  readonly send: (frame: Partial<StreamFrame>) => void
}

export class HostileAgent {
  readonly node: UplinkRequest
  /** Resolves with the reason. */
  readonly closed: Promise<string>
  onAsked: (asked: Asked) => void = ({ reply }) => reply(encodeValue(true))
  onStream: (asked: AskedStream) => void = () => {}
  readonly #socket: MessageSocket
  readonly #kinds = new Map<number, number>()
  readonly #pieces = new Map<number, Buffer[]>()
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #nextId = 1
  #isOpen = true

  private constructor(node: UplinkRequest, socket: MessageSocket) {
    this.node = node
    this.#socket = socket
    const closed = Promise.withResolvers<string>()
    this.closed = closed.promise
    socket.start({
      onMessage: (bytes) => this.#take(bytes),
      onDrain: () => {},
      onClose: (reason) => {
        this.#isOpen = false
        for (const settle of this.#waiting.values()) settle({ code: 'closed', text: reason })
        closed.resolve(reason)
      },
    })
  }

  /** Rejects where the server refuses the uplink. */
  static async open(
    port: number,
    node: Partial<UplinkRequest> & Pick<UplinkRequest, 'nodeId' | 'name'>,
  ): Promise<HostileAgent> {
    const request = { secret: secretOf('m'), token: null, ...node }
    return openUplinkSocket(
      { tlsOf: () => undefined },
      { secure: false, host: '127.0.0.1', port },
      request,
      {
        clock: systemClock,
        signal: new AbortController().signal,
        opened: (socket) => new HostileAgent(request, socket),
      },
    )
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** As it is. */
  sendBytes(bytes: Uint8Array): void {
    this.#socket.send(bytes)
  }

  send(type: number, channel: number, rest: Uint8Array = Buffer.alloc(0)): void {
    const head = Buffer.alloc(5)
    head.writeUInt8(type, 0)
    head.writeUInt32BE(channel, 1)
    this.sendBytes(Buffer.concat([head, rest]))
  }

  openCalls(): void {
    this.send(message.open, callsChannel, kind.calls)
  }

  calls(frame: Partial<CallFrame>, channel = callsChannel): void {
    this.#frame(channel, encodeCalls(frame))
  }

  /** Resolves with whatever is answered; `closed`: nothing was. After `openCalls`. */
  ask(method: string, args: unknown, more: Partial<WireRequest> = {}): Promise<Answer> {
    const id = this.#nextId
    this.#nextId += 1
    const answer = new Promise<Answer>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} is not answered`)), answeredMs)
      this.#waiting.set(id, (settled) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        resolve(settled)
      })
    })
    const asked = { id, method, args: encodeValue(args), remote: '', requestId: method }
    this.calls({ requests: [{ ...asked, timeoutMs: answeredMs, ...more }] })
    return answer
  }

  close(): void {
    this.#socket.close('the agent goes')
  }

  /** In pieces, where it is long. */
  #frame(channel: number, bytes: Buffer): void {
    let at = 0
    for (; bytes.length - at > pieceBytesMax; at += pieceBytesMax) {
      this.send(message.piece, channel, bytes.subarray(at, at + pieceBytesMax))
    }
    this.send(message.frame, channel, bytes.subarray(at))
  }

  #take(bytes: Buffer): void {
    const type = bytes.readUInt8(0)
    const channel = bytes.readUInt32BE(1)
    const rest = bytes.subarray(5)
    if (type === message.open) this.#kinds.set(channel, rest.readUInt8(0))
    if (type === message.piece) {
      this.#pieces.set(channel, [...(this.#pieces.get(channel) ?? []), Buffer.from(rest)])
    }
    if (type !== message.frame) return
    const frame = Buffer.concat([...(this.#pieces.get(channel) ?? []), rest])
    this.#pieces.delete(channel)
    if (this.#kinds.get(channel) === 1) this.#takeStream(channel, frame)
    else this.#takeCalls(channel, frame)
  }

  #takeCalls(channel: number, frame: Buffer): void {
    const { requests, responses } = decodeCalls(frame)
    for (const request of requests) {
      const respond = (response: WireResponse) => this.calls({ responses: [response] }, channel)
      const reply = (result: Buffer) => respond({ id: request.id, result })
      this.onAsked({ channel, request, reply, respond })
    }
    for (const { id, result, error } of responses) {
      const settle = this.#waiting.get(id)
      if (error) settle?.({ code: error.code, text: error.message })
      else settle?.({ value: result })
    }
  }

  #takeStream(channel: number, bytes: Buffer): void {
    const { open } = decodeStreamFrame(bytes)
    if (open === null) return
    const send = (frame: Partial<StreamFrame>): void => {
      this.#frame(channel, encodeStreamFrame(frame))
    }
    this.onStream({ channel, request: open, send })
  }
}
