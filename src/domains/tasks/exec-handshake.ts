/**
 * The first message of a browser: whose request it is. Pages cannot set headers of a WebSocket, so Nomad's send the token there. It is
 * in no log, and neither is what cannot be read.
 */
import { firstOf, nothing } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'

const handshakeMs = 10_000
/** Of the message. */
const lengthMax = 16_384
const version = 1

/** Of a request. */
type Unidentified = {
  readonly clock: Clock
  readonly signal: AbortSignal
  identify(token: string): Promise<void>
}

/** Resolves once the request is that token's. What else the client says is left. False: it went away. */
export async function hearHandshake(
  request: Unidentified,
  messages: AsyncIterable<string>,
): Promise<boolean> {
  const first = await firstMessage(request, messages)
  if (first === null) return false
  const token = tokenIn(first)
  if (token !== '') await request.identify(token)
  return true
}

/** Null: the client went away. */
function firstMessage(
  { clock, signal }: Unidentified,
  messages: AsyncIterable<string>,
): Promise<string | null> {
  return firstOf<string | null>({
    clock,
    ms: handshakeMs,
    signal,
    listen(found, failed) {
      messages[Symbol.asyncIterator]()
        .next()
        .then(({ done, value }) => found(done === true ? null : value), failed)
      return nothing
    },
    timeout() {
      throw refused(`it did not come within ${handshakeMs / 1_000} seconds`)
    },
    aborted: () => null,
  })
}

/** '': none, as a caller without one. */
function tokenIn(message: string): string {
  if (message.length > lengthMax) throw refused(`it has at most ${lengthMax} letters`)
  let handshake: unknown
  try {
    handshake = JSON.parse(message)
  } catch {
    throw refused('it is no JSON')
  }
  if (typeof handshake !== 'object' || handshake === null) throw refused('it is no object')
  if (Reflect.get(handshake, 'version') !== version) throw refused(`its version must be ${version}`)
  const token: unknown = Reflect.get(handshake, 'auth_token') ?? ''
  if (typeof token !== 'string') throw refused('its auth_token must be a text')
  return token
}

function refused(what: string): MusterError {
  const wanted = '{"version":1,"auth_token":"…"}'
  return new MusterError(
    'invalid_argument',
    `ws_handshake was asked for, so the first message must be ${wanted}: ${what}`,
  )
}
