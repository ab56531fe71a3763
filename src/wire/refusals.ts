/** Connections and streams between servers that are refused or ended for what they said: counted, and told without flooding the log. */
import type { Clock } from '../lib/clock.ts'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'

/** As they are counted. */
export const refusalKinds = [
  /** Wrong cluster, wrong server, no common version; on the dialling side, whatever the other side declined with. */
  'handshake',
  /** The certificate's chain, its dates or its use; or the other side refuses this server's. */
  'certificate',
  /** A good certificate of the wrong role or region. */
  'role',
  /** One side speaks TLS, the other does not. */
  'plain',
  /** Whatever else TLS failed on. */
  'tls',
  /** What came on a stream that stood cannot be read, or cannot be true: the stream is ended. */
  'frame',
] as const
export type RefusalKind = (typeof refusalKinds)[number]

const logIntervalMs = 60_000
/** Peers remembered; beyond it the oldest is forgotten. */
const peersMax = 1024

export class Refusals {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #loggedMs = new Map<string, number>()
  readonly #counts = new Map<RefusalKind, number>()

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  /**
   * Logs once a minute why connections to or from `peer` are refused: they are tried again and again.
   * `holder`: whose certificate it is, where several peers are behind one address.
   */
  add(kind: RefusalKind, peer: string, sentence: string, holder = ''): void {
    this.#counts.set(kind, this.count(kind) + 1)
    const now = this.#clock.monotonicMs()
    const key = `${kind} ${peer} ${holder}`
    const last = this.#loggedMs.get(key)
    if (last !== undefined && now - last < logIntervalMs) return
    rememberBounded(this.#loggedMs, key, now)
    this.#logger.warn('stream refused', { peer, reason: sentence })
  }

  /** What came on a stream of `peer` is refused. Returns the sentence to end it with. */
  addFrame(peer: string, error: unknown, what = 'bad frame'): string {
    const sentence = `${what}: ${textOf(error)}`
    this.add('frame', peer, sentence)
    return sentence
  }

  /** Since the start. */
  count(kind: RefusalKind): number {
    return this.#counts.get(kind) ?? 0
  }
}

export function rememberBounded<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= peersMax) return
  const oldest = map.keys().next()
  if (oldest.done !== true) map.delete(oldest.value)
}
