/** From what a caller names ("leader", an id, a name) to the server that runs something. */
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError } from '../lib/errors.ts'
import type { Consensus } from './consensus.ts'
import { noLeader } from './forward.ts'
import { leaderWord, type ServerDirectory, type ServerInfo } from './servers.ts'

/** Names in a refusal are cut here: they come from the caller. */
const nameLengthShown = 100

export type PlacementOptions = {
  readonly consensus: Consensus
  readonly servers: ServerDirectory
  readonly clock: Clock
  /** How long `leader` waits for there to be one. */
  readonly noLeaderMs: number
}

export class Placement {
  readonly #options: PlacementOptions

  constructor(options: PlacementOptions) {
    this.#options = options
  }

  /** Null: this server. Throws `invalid_argument` for a name nobody has, `no_leader`, `cancelled`. */
  async find(
    at: string | null,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<ServerInfo | null> {
    if (at === null) return null
    const { servers } = this.#options
    const server = at === leaderWord ? await this.#leader(deadlineMs, signal) : servers.find(at)
    if (server === null) throw unknownServer(at, servers.names())
    return server.id === servers.selfId ? null : server
  }

  async #leader(deadlineMs: number, signal: AbortSignal): Promise<ServerInfo> {
    const { consensus, clock, noLeaderMs } = this.#options
    const untilMs = Math.min(deadlineMs, clock.monotonicMs() + noLeaderMs)
    try {
      return consensus.leader() ?? (await consensus.waitForLeader(untilMs, signal))
    } catch (error) {
      throw codeOf(error) === 'no_leader' ? noLeader(noLeaderMs, error) : error
    }
  }
}

/** `invalid_argument`. */
export function unknownServer(at: string, names: readonly string[]): MusterError {
  const known = [...names, leaderWord].join(', ')
  return new MusterError(
    'invalid_argument',
    `there is no server ${JSON.stringify(at.slice(0, nameLengthShown))}: name one of ${known}`,
  )
}
