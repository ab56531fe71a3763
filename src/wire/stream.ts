/**
 * One stream after its handshake, the same for the side that dialled and the side that was dialled.
 */
import type { RemotePeer } from './handshake.ts'

export type StreamHandlers = {
  onFrame(frame: Buffer): void
  /** `write` may go on. */
  onDrain(): void
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

export class WireStream {
  readonly peer: RemotePeer
  /** Address of the other end, for logs. */
  readonly remote: string
  readonly #duplex: FrameDuplex
  readonly #ending: StreamEnding
  #handlers: StreamHandlers | null = null
  #closedBy: string | null = null

  /** `duplex` is paused and has its 'error' listener; its maker calls `closed` when it ends. */
  constructor(duplex: FrameDuplex, peer: RemotePeer, remote: string, ending: StreamEnding) {
    this.peer = peer
    this.remote = remote
    this.#duplex = duplex
    this.#ending = ending
  }

  /** Frames begin to arrive; those sent meanwhile come first. Called once. */
  start(handlers: StreamHandlers): void {
    this.#handlers = handlers
    if (this.#closedBy !== null) {
      handlers.onClose(this.#closedBy)
      return
    }
    this.#duplex.on('data', (frame: Buffer) => {
      if (this.#closedBy === null) handlers.onFrame(frame)
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
    return this.#duplex.write(frame)
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
    this.#handlers?.onClose(reason)
    return true
  }
}
