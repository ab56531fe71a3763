/** What an audit log is told of each request at its end, and what it may say before one. */
import { MusterError } from '../lib/errors.ts'
import type { Exchange } from './request.ts'

/** As it was sent: it still holds secrets, so it is neither logged nor kept. `audit-line.ts` makes a line of it. */
export type AuditedRequest = {
  readonly requestId: string
  readonly remote: string
  readonly method: string
  /** With its query string. */
  readonly url: string
  /** The pattern of its route; null: there is none. */
  readonly route: string | null
  /** The last method that it asked; null: it came to none. */
  readonly call: string | null
  /** The secret of its token; null: it brought none. */
  readonly token: string | null
  /** Of that token, where this server knew it before the request ran. */
  readonly accessor: string | null
  /** 0: the client went away before there was one. */
  readonly status: number
  /** What the client was told went wrong. */
  readonly error: string | null
  readonly durationMs: number
  /** Another server ran it. */
  readonly forwarded: boolean
}

export interface RequestAudit {
  /** Whether requests are recorded. */
  readonly enabled: boolean
  /** No request may run now, for nothing could be recorded of it; nor is it recorded that it was refused. */
  readonly refusing: boolean
  /** The accessor of a token by its secret; null: this server knows of none. At once, and never throws. */
  accessorOf(token: string): string | null
  /** At once: whatever is slow happens later. Never throws. */
  record(request: AuditedRequest): void
}

/** For servers without an audit log. */
export const noAudit: RequestAudit = {
  enabled: false,
  refusing: false,
  accessorOf: () => null,
  record() {},
}

type Identity = Pick<AuditedRequest, 'token' | 'accessor'>

/** Looked up before the request runs: it may be the one that ends its own token. */
export function identityOf(exchange: Exchange, audit: RequestAudit): Identity {
  let token: string | null = null
  try {
    ;({ token } = exchange)
  } catch {
    // The query string cannot be read, so no token was read from it either.
  }
  return { token, accessor: token === null ? null : audit.accessorOf(token) }
}

export function auditedRequest(
  exchange: Exchange,
  ended: Identity & Pick<AuditedRequest, 'route' | 'status' | 'durationMs'>,
): AuditedRequest {
  const { requestId, remote, request, calledMethod, refusal, forwarded } = exchange
  return {
    requestId,
    remote,
    method: request.method ?? '',
    url: request.url ?? '',
    call: calledMethod,
    error: refusal,
    forwarded,
    ...ended,
  }
}

/** The refusal of every request while `audit.required` holds and nothing can be recorded. */
export function notAuditable(): MusterError {
  return new MusterError(
    'unavailable',
    'the audit log of this server cannot be written, and audit.required refuses requests meanwhile',
  )
}
