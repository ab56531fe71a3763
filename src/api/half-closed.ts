/**
 * Clients that end their sending side and read on (`nc -N`), or are gone: for a server both look alike. What is under way is answered, as
 * others do. What waits for a change, and a stream that stands still, would be kept for nobody: it ends.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../lib/clock.ts'

/** A request that is served. */
export type Answering = {
  readonly exchange: {
    /** It asked to wait for a change. */
    readonly blocking: boolean
    readonly response: { readonly headersSent: boolean }
  }
  /** Its answer comes as it is made, perhaps without an end. */
  streams: boolean
  isOver: boolean
}

/** An answer that is there already gets out by then. */
const waitMs = 250
/** A stream that has an end has something to say more often. */
const silenceMs = 2_000

/** Looks at it until it is over. What was answered before still gets out when it ends the socket. */
export function endWhatWaits(socket: Socket, place: Answering, clock: Clock): void {
  let written = -1
  const look = (): void => {
    if (place.isOver || socket.destroyed) return
    const { exchange, streams } = place
    if (streams) {
      // One that the client does not read has limits of its own.
      const isSilent = socket.bytesWritten === written && socket.writableLength === 0
      if (isSilent) {
        socket.end()
        return
      }
      written = socket.bytesWritten
    } else if (exchange.blocking && !exchange.response.headersSent) {
      socket.end()
      return
    }
    clock.setTimer(streams ? silenceMs : waitMs, look)
  }
  clock.setTimer(waitMs, look)
}
