/**
 * One request as a line of the audit log: JSON, always the same members in the same order. No secret is in it: of a token
 * there is the accessor, and a hash under a key of the cluster, by which lines of one token are found on all servers.
 */
import type { AuditedRequest } from '../api/audit.ts'
import { servedBy, shownError, shownTarget } from '../api/audit-target.ts'
import type { LoginAuditEvent } from '../domains/host.ts'

/** What is recorded besides what the request brought. */
export type AuditEntry = AuditedRequest & {
  /** At its end. */
  readonly wallMs: number
}

/** What is no request, but follows from one. */
export type AuditedEvent = LoginAuditEvent & { readonly wallMs: number }

/** What a line shows of a token; null: this agent does not know. */
export type ShownToken = { readonly accessor: string | null; readonly hash: string | null }

export const nothingShown: ShownToken = { accessor: null, hash: null }

export function auditLine(server: string, entry: AuditEntry, shown: ShownToken): string {
  const { token, route, error, durationMs } = entry
  const accessor = entry.accessor ?? shown.accessor
  const line = {
    time: new Date(entry.wallMs).toISOString(),
    type: 'request',
    server,
    id: entry.requestId,
    remote: entry.remote,
    method: entry.method,
    path: shownTarget(entry.url, servedBy(entry), token),
    route,
    call: entry.call,
    accessor: token === null ? 'anonymous' : (accessor ?? 'unknown'),
    token: shown.hash,
    status: entry.status,
    error: error === null ? null : shownError(error, token),
    ms: Math.round(durationMs * 1_000) / 1_000,
    forwarded: entry.forwarded,
  }
  return `${JSON.stringify(line)}\n`
}

/** The request that led to it has a line of its own, maybe at another server. */
export function eventLine(
  server: string,
  { type, requestId, remote, accessor, mount, name, untilMs, wallMs }: AuditedEvent,
): string {
  const line = {
    time: new Date(wallMs).toISOString(),
    type,
    server,
    id: requestId,
    remote,
    accessor: accessor ?? 'anonymous',
    mount,
    name,
    until: untilMs === null ? null : new Date(untilMs).toISOString(),
  }
  return `${JSON.stringify(line)}\n`
}

/** Stands where lines are missing. */
export function gapLine(
  server: string,
  gap: { readonly wallMs: number; readonly sinceWallMs: number; readonly dropped: number },
): string {
  const line = {
    time: new Date(gap.wallMs).toISOString(),
    type: 'gap',
    server,
    since: new Date(gap.sinceWallMs).toISOString(),
    dropped: gap.dropped,
  }
  return `${JSON.stringify(line)}\n`
}
