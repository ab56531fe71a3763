/**
 * Where a server learns of the others: a list in the configuration file, or gossip. What it learns there is a hint;
 * whoever answers at an address says itself who it is, and the cluster's id has the last word.
 */
import type { Self } from './self.ts'

export type KnownServer = {
  readonly name: string
  /** host:port of the RPC listener */
  readonly address: string
  /** How many servers it wants to begin a cluster with; null: not known. */
  readonly expect: number | null
}

export interface PeerSource {
  /** Those thought to be up. May name this server itself. */
  servers(): readonly KnownServer[]
  /** Where a member is dialed, when the source knows it better than the Raft configuration; else null. */
  addressOf(member: Self): string | null
  /** Looks again whether members moved; called in each round of membership. */
  look(): void
  /** Whether a server that is here belongs into the cluster, also when it was taken out before. */
  readonly presenceIsMembership: boolean
}

export type StaticPeer = { readonly name: string; readonly address: string }

/** Of a list. */
export function staticPeers(peers: readonly StaticPeer[]): PeerSource {
  return {
    servers: () => peers.map(({ name, address }) => ({ name, address, expect: null })),
    addressOf: ({ name }) => peers.find((peer) => peer.name === name)?.address ?? null,
    look: () => {},
    presenceIsMembership: false,
  }
}

/** A list beside a gossip pool: the list says who is asked and where, and a server that is here belongs to the cluster. */
export function listedPeers(listed: PeerSource): PeerSource {
  return {
    servers: () => listed.servers(),
    addressOf: (member) => listed.addressOf(member),
    look: () => {},
    presenceIsMembership: true,
  }
}
