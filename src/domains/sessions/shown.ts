/** A session as clients read it, and as filters of lists do. */
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import { defaultNamespace, type SessionRow } from './model.ts'

export function shownSession(row: SessionRow) {
  const lockDelayNs = BigInt(row.lockDelayNs)
  const exact = lockDelayNs <= BigInt(Number.MAX_SAFE_INTEGER)
  return {
    ID: row.id,
    Name: row.name,
    Node: row.node,
    LockDelay: exact ? Number(lockDelayNs) : lockDelayNs,
    Behavior: row.behavior,
    TTL: row.ttl,
    NodeChecks: row.nodeChecks,
    ServiceChecks:
      row.serviceChecks?.map(({ id, namespace }) => ({
        ID: id,
        Namespace: namespace,
      })) ?? null,
    ...(row.checks === null ? {} : { Checks: row.checks }),
    ...(row.namespace === defaultNamespace ? {} : { Namespace: row.namespace }),
    CreateIndex: row.createIndex,
    ModifyIndex: row.createIndex,
  }
}

export const sessionFilters = new FilterCompiler({
  ID: 'string',
  Name: 'string',
  Node: 'string',
  LockDelay: 'integer',
  Behavior: 'string',
  TTL: 'string',
  NodeChecks: { list: 'string' },
  ServiceChecks: { list: { record: { ID: 'string', Namespace: 'string' } } },
  Checks: { list: 'string' },
  Namespace: 'string',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
})
