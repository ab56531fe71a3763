/** A member as Consul's tools know it. */
import type { PoolMember } from './pool.ts'

/** Numbers of the gossip library that these tools print by. */
const statusNumbers = {
  alive: 1,
  leaving: 2,
  left: 3,
  failed: 4,
} as const satisfies Record<PoolMember['status'], number>

/** They know servers and client agents by these roles, and print nothing but the name of a member with another. */
const roles: Readonly<Record<string, string>> = { muster: 'consul', 'muster-client': 'node' }

/** Absent, `name` is that of the pool. */
export function shownForConsul(
  member: Pick<PoolMember, 'name' | 'address' | 'port' | 'tags' | 'status' | 'versions'>,
  name = member.name,
) {
  const tags = Object.fromEntries(member.tags)
  return {
    Name: name,
    Addr: member.address,
    Port: member.port,
    Tags: { ...tags, role: roles[tags['role'] ?? ''] ?? tags['role'] ?? '' },
    Status: statusNumbers[member.status],
    ...shownVersions(member),
  }
}

export function shownVersions({ versions }: Pick<PoolMember, 'versions'>) {
  return {
    ProtocolMin: versions.protocolMin,
    ProtocolMax: versions.protocolMax,
    ProtocolCur: versions.protocolCurrent,
    DelegateMin: versions.delegateMin,
    DelegateMax: versions.delegateMax,
    DelegateCur: versions.delegateCurrent,
  }
}
