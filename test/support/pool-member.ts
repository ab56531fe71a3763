/** A member of a gossip pool as the domains see it: alive, and nothing to say of it. */
import type { PoolMember } from '../../src/domains/members/pool.ts'

export function poolMember(name: string, more: Partial<PoolMember> = {}): PoolMember {
  return {
    name,
    address: '127.0.0.1',
    port: 4648,
    tags: new Map([['role', 'muster']]),
    status: 'alive',
    suspected: false,
    udpBlocked: false,
    versions: {
      protocolMin: 1,
      protocolMax: 5,
      protocolCurrent: 2,
      delegateMin: 2,
      delegateMax: 5,
      delegateCurrent: 5,
    },
    changedAtMs: 0,
    goneAtMs: null,
    goneBy: null,
    suspicion: null,
    ...more,
  }
}
