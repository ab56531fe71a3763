/** A session as clients read it. */
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
