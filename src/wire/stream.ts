/**
 * One stream after its handshake, the same for the side that dialled and the side that was dialled.
 */
import type { RemotePeer } from './handshake.ts'
import type { Traffic } from './traffic.ts'

export type StreamHandlers = {
  onFrame(frame: Buffer): void
  /** `write` may go on. */
  onDrain(): void
  /** More of a frame has come since the last look, some tenths of a second ago, and not yet all of it. Of accepted streams alone. */
  onArriving?(): void
  /** Exactly once, also after `close`; nothing comes after it. */
  onClose(reason: string): void
}

/** What is used of gRPC's stream classes. */
export type FrameDuplex = {
  on(event: 'data', listener: (frame: Buffer) => void): unknown
  on(event: 'drain', listener: () => void): unknown
  resume(): unknown
  write(frame: Buffer): boolean
}

/** How the two sides of gRPC end a stream; everything else about them is alike. */
export type StreamEnding = {
  /** Releases everything at once, the TCP connection included. What was written may be lost. */
  destroy(): void
  /** Ends this direction after what was written, and everything soon after. */
  finish(sentence: string): void
}

/** Frames both ways: what calls and streams of calls need of whatever carries them. */
export type FrameStream = Pick<WireStream, 'open' | 'start' | 'write' | 'close' | 'finish'> & {
  /** Who is at the other end, for logs. */
  readonly peer: { readonly id: string }
}

export class WireStream {
  readonly peer: RemotePeer
  /** Address of the other end, for logs. */
  readonly remote: string
  readonly #duplex: FrameDuplex
  readonly #ending: StreamEnding
  readonly #traffic: Traffic
  #handlers: StreamHandlers | null = null
  #closedBy: string | null = null

  /** `duplex` is paused and has its 'error' listener; its maker calls `closed` when it ends. */
  constructor(
    duplex: FrameDuplex,
    from: { readonly peer: RemotePeer; readonly remote: string },
    ending: StreamEnding,
    traffic: Traffic,
  ) {
    this.peer = from.peer
    this.remote = from.remote
    this.#duplex = duplex
    this.#ending = ending
    this.#traffic = traffic
    traffic.streams += 1
  }

  /** Frames begin to arrive; those sent meanwhile come first. Called once. */
  start(handlers: StreamHandlers): void {
    this.#handlers = handlers
    if (this.#closedBy !== null) {
      handlers.onClose(this.#closedBy)
      return
    }
    this.#duplex.on('data', (frame: Buffer) => {
      if (this.#closedBy !== null) return
      this.#traffic.framesReceived += 1
      this.#traffic.bytesReceived += frame.length
      handlers.onFrame(frame)
    })
    this.#duplex.on('drain', () => {
      if (this.#closedBy === null) handlers.onDrain()
    })
    this.#duplex.resume()
  }

  get open(): boolean {
    return this.#closedBy === null
  }

  /** False: the connection is full, wait for `onDrain`. What is written to a closed stream is gone. */
  write(frame: Buffer): boolean {
    if (this.#closedBy !== null) return false
    this.#traffic.framesSent += 1
    this.#traffic.bytesSent += frame.length
    return this.#duplex.write(frame)
  }

  /** See `onArriving`. */
  arriving(): void {
    if (this.#closedBy === null) this.#handlers?.onArriving?.()
  }

  /** The connection is cut now. */
  close(reason: string): void {
    if (this.closed(reason)) this.#ending.destroy()
  }

  /** What was written is delivered if the other side reads it soon; then the connection ends. */
  finish(reason: string): void {
    if (this.closed(reason)) this.#ending.finish(reason)
  }

  /** The underlying stream is gone. False when it was closed before. */
  closed(reason: string): boolean {
    if (this.#closedBy !== null) return false
    this.#closedBy = reason
    this.#traffic.streams -= 1
    this.#handlers?.onClose(reason)
    return true
  }
}
