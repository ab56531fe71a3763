/** A member of a gossip pool as gossip shows it: alive, and nothing to say of it. */
import type { MemberView } from '../../src/gossip/gossip.ts'
import { ownVersions } from '../../src/gossip/core/versions.ts'

export function memberView(name: string, more: Partial<MemberView> = {}): MemberView {
  return {
    name,
    address: '127.0.0.1',
    port: 4648,
    endpoint: '127.0.0.1:4648',
    tags: new Map(),
    status: 'alive',
    suspected: false,
    udpBlocked: false,
    reach: 'direct',
    versions: ownVersions,
    incarnation: 1,
    statusTime: 1,
    changedAtMs: 0,
    goneAtMs: null,
    goneBy: null,
    suspicion: null,
    ...more,
  }
}
