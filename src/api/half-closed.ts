/**
 * Clients that end their sending side and read on (`nc -N`), or are gone: for a server both look alike. What is under way is answered, as
 * others do. What waits for a change, and a stream that stands still, would be kept for nobody: it ends.
 */
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../lib/clock.ts'

/** A request that is served. */
export type Answering = {
  readonly exchange: {
    /** It asked to wait for a change. */
    readonly blocking: boolean
    readonly response: { readonly headersSent: boolean }
  }
  /** Its answer comes as it is made, perhaps without an end. */
  streams: boolean
  /** It is looked at, for its client says nothing more; cancelled when it is over. */
  ending: Timer | null
}

/** An answer that is there already gets out by then. */
const waitMs = 250
/** A stream that has an end has something to say more often. */
const silenceMs = 2_000

/** Looks at it until that is cancelled. What was answered before still gets out when it ends the socket. */
export function endWhatWaits(socket: Socket, place: Answering, clock: Clock): Timer {
  let written = -1
  const look = (): void => {
    if (socket.destroyed) return
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
    timer = clock.setTimer(streams ? silenceMs : waitMs, look)
  }
  let timer = clock.setTimer(waitMs, look)
  return { cancel: () => timer.cancel() }
}
