/** The part of a request before anything of it is sent: what fails here surely did nothing, and another agent may be asked. */
import type { ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { once } from 'node:events'
import { systemClock } from '../../lib/clock.ts'

/** A machine that does not say a word, while others are left to be asked. */
const connectMsMax = 3_000

class Unreached extends Error {
  readonly code: string

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  }
}

export function isUnreached(error: unknown): boolean {
  return error instanceof Unreached
}

/** Resolves once bytes can be sent, with TLS after its handshake. `isLast`: no other address is left, so no time is saved. */
export async function connected(
  request: ClientRequest,
  { secure, isLast }: { readonly secure: boolean; readonly isLast: boolean },
): Promise<void> {
  const limit = isLast
    ? null
    : systemClock.setTimer(connectMsMax, () => {
        request.destroy(new Error(`no connection within ${connectMsMax} ms`))
      })
  try {
    const [socket] = (await once(request, 'socket')) as [Socket]
    const failed = once(request, 'error').then(([error]) => Promise.reject(error as Error))
    const isOpen = secure ? false : !socket.connecting
    if (!isOpen) await Promise.race([once(socket, secure ? 'secureConnect' : 'connect'), failed])
    failed.catch(() => {})
  } catch (error) {
    throw new Unreached(error)
  } finally {
    limit?.cancel()
  }
}
