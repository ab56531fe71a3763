/**
 * The gossip pool as operators see and steer it: who is there, joining, giving up who failed, the keys of the gossip.
 * This file is what that needs of a pool; `gossip/gossip.ts` has its form.
 */
/** The tag `role` of a client agent. */
export const clientRole = 'muster-client'

export type PoolSuspicion = {
  readonly incarnation: number
  readonly by: string
  readonly why: string
  readonly path: string
  readonly toldBy: string | null
  readonly confirmedBy: readonly string[]
  readonly atMs: number
  readonly ended: { readonly atMs: number; readonly how: string; readonly by: string | null } | null
}

export type PoolMember = {
  readonly name: string
  /** An IP address. */
  readonly address: string
  readonly port: number
  readonly tags: ReadonlyMap<string, string>
  readonly status: 'alive' | 'leaving' | 'left' | 'failed'
  readonly suspected: boolean
  readonly udpBlocked: boolean
  readonly versions: {
    readonly protocolMin: number
    readonly protocolMax: number
    readonly protocolCurrent: number
    readonly delegateMin: number
    readonly delegateMax: number
    readonly delegateCurrent: number
  }
  readonly changedAtMs: number
  readonly goneAtMs: number | null
  readonly goneBy: string | null
  readonly suspicion: PoolSuspicion | null
}

/** Keys are base64. */
export type KeyOperation =
  | { readonly type: 'install' | 'use' | 'remove'; readonly key: string }
  | { readonly type: 'list' }

export type KeyReport = {
  readonly members: number
  readonly answered: number
  /** By member: what went wrong there. */
  readonly errors: ReadonlyMap<string, string>
  readonly keys: ReadonlyMap<string, number>
  readonly primaryKeys: ReadonlyMap<string, number>
}

/** Where a member places itself among the others, by the round trips between them. Lengths in seconds. */
export type PoolCoordinate = {
  readonly vector: readonly number[]
  readonly error: number
  readonly adjustment: number
  readonly height: number
}

export interface Pool {
  members(): readonly PoolMember[]
  /** By name, of members that are there and have placed themselves. */
  coordinates(): ReadonlyMap<string, PoolCoordinate>
  /** Rejects with invalid_argument for text that is no address. An error's text names the address. */
  join(addresses: readonly string[]): Promise<{
    readonly joined: number
    readonly errors: readonly { readonly address: string; readonly error: Error }[]
  }>
  /** Throws not_found, and invalid_argument for this member itself. A living one stays. */
  forceLeave(name: string, prune: boolean): void
  readonly keyring: { everywhere(operation: KeyOperation): Promise<KeyReport> }
}

/** This server's place in it. */
export type PoolOfServer = {
  readonly server: string
  readonly region: string
  readonly datacenter: string
  /** Null: this server takes part in no gossip. */
  readonly pool: Pool | null
  /** Tells consensus that a server, by its name without the region, is given up; absent at a client agent. */
  readonly giveUp?: (server: string) => Promise<void>
}
