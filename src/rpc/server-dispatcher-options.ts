/** What a dispatcher is made of, and its bounds. */
import type { Command } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { Authorizer } from './authorizer.ts'
import type { AuditLine } from './calls.ts'
import type { Consensus } from './consensus.ts'
import type { PeerLink, StreamLink } from './link.ts'
import type { Method } from './method.ts'
import type { SentWrites } from './sent-writes.ts'
import type { ServerDirectory } from './servers.ts'
import type { Services } from './services.ts'
import type { ReadableState } from './state.ts'
import type { WakeRoom } from './wake-queue.ts'

export type DispatchLimits = {
  /** How long a request waits for a leader before it fails with `no_leader`. */
  readonly noLeaderMs: number
  /** A call's whole time when its caller gives no deadline; for a blocking query, the time before it parks. */
  readonly callMs: number
  /** Longest time another server may ask for. */
  readonly forwardedMsMax: number
  readonly parkedMax: number
  /** Streams that are open here, for this server's clients and for other servers. */
  readonly streamsMax: number
}

export const defaultDispatchLimits: DispatchLimits = {
  noLeaderMs: 5_000,
  callMs: 30_000,
  forwardedMsMax: 600_000,
  parkedMax: 50_000,
  streamsMax: 4_096,
}

export type ServerDispatcherOptions = {
  readonly methods: readonly Method[]
  /** What the methods use besides the state. */
  readonly services: Services
  readonly consensus: Consensus
  readonly link: PeerLink & StreamLink
  readonly servers: ServerDirectory
  readonly state: ReadableState
  readonly authorizer: Authorizer
  /** `Machine.encodeCommand` */
  readonly encode: (command: Command, name: string | null) => Uint8Array
  /** Absent: what is sent to a leader that does not answer stays unknown. */
  readonly sent?: SentWrites
  readonly clock: Clock
  readonly log: Logger
  readonly limits?: Partial<DispatchLimits>
  /** For the answers of blocking queries; absent: there always is. */
  readonly room?: WakeRoom
  /** Called when very many blocking queries begin to wait, and when they are over. Default: nobody cares. */
  readonly crowded?: (crowded: boolean) => void
  /** Called once per call that arrived here, at its end. Must not throw. */
  readonly audit?: (line: AuditLine) => void
}
