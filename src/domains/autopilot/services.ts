/** What autopilot's methods use besides the state. */
import { serviceKey } from '../../rpc/services.ts'

export type ServerHealth = {
  readonly id: string
  readonly name: string
  /** host:port of the RPC listener */
  readonly address: string
  /** Of its gossip; '' when it is not in the pool. */
  readonly gossipStatus: string
  readonly version: string
  readonly isLeader: boolean
  readonly isVoter: boolean
  /** Since it answered; null: not yet. */
  readonly lastContactMs: number | null
  readonly lastTerm: number
  readonly lastIndex: number
  readonly healthy: boolean
  /** Unix milliseconds; since when it is as healthy as it is. */
  readonly stableSinceMs: number
}

export type ClusterHealth = {
  readonly healthy: boolean
  /** Voters that may fail with a majority left. */
  readonly failureTolerance: number
  readonly servers: readonly ServerHealth[]
}

/** `health`: at the leader. */

/** Provided by the server: how the servers fare, as it sees it while it leads. */
export const clusterHealth = serviceKey<() => ClusterHealth>('autopilot.health')
