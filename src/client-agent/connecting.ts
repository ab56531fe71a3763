/** A new connection to a server, until a request may be written to it. */
import type { Socket } from 'node:net'
import type { Clock } from '../lib/clock.ts'
import { NotSent } from './not-sent.ts'

export type Connecting = {
  /** Not a byte of a request is written before the other side is known to be a server. */
  readonly secure: boolean
  /** A server that takes no connection within this time is left. */
  readonly ms: number
  readonly clock: Clock
}

/** Calls back once: `ready`, or `late` with why. Neither where the socket closes before. */
export function onceConnected(
  socket: Socket,
  { secure, ms, clock }: Connecting,
  ready: () => void,
  late: (error: NotSent) => void,
): void {
  const timer = clock.setTimer(ms, () => late(new NotSent(`no connection within ${ms} ms`)))
  socket.once('close', () => timer.cancel())
  socket.once(secure ? 'secureConnect' : 'connect', () => {
    timer.cancel()
    ready()
  })
}
