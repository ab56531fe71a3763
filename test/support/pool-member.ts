/** A member of a gossip pool as the domains see it: alive, and nothing to say of it. */
import type { PoolMember } from '../../src/domains/members/pool.ts'
import { ownVersions } from '../../src/gossip/core/versions.ts'

export function poolMember(name: string, more: Partial<PoolMember> = {}): PoolMember {
  return {
    name,
    address: '127.0.0.1',
    port: 4648,
    tags: new Map([
      ['role', 'muster'],
      ['dc', 'dc1'],
    ]),
    status: 'alive',
    suspected: false,
    udpBlocked: false,
    versions: ownVersions,
    changedAtMs: 0,
    goneAtMs: null,
    goneBy: null,
    suspicion: null,
    ...more,
  }
}
