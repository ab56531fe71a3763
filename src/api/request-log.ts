/**
 * One line of the log for each request at its end, at level debug, so that a reader of the log sees the server work. The
 * path is shown as in the audit log, so no secret is in the line.
 */
import type { Logger } from '../lib/log.ts'
import type { AuditedRequest } from './audit.ts'
import { servedBy, shownTarget } from './audit-target.ts'

/** Callers ask `log.listens('debug')` first: what a line needs is not free. */
export function logRequest(log: Logger, request: AuditedRequest): void {
  const { requestId, remote, method, url, token, accessor, status, durationMs } = request
  log.debug('request complete', {
    method,
    path: shownTarget(url, servedBy(request), token),
    status,
    ms: Math.round(durationMs * 1_000) / 1_000,
    requestId,
    remote,
    accessor: token === null ? 'anonymous' : (accessor ?? 'unknown'),
  })
}
