/**
 * One request as a line of the audit log: JSON, always the same members in the same order. No secret is in it: of a token
 * there is the accessor, and a hash under a key of the cluster, by which lines of one token are found on all servers.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { AuditedRequest } from '../api/audit.ts'
import { shownError, shownTarget } from '../api/audit-target.ts'

/** What is recorded besides what the request brought. */
export type AuditEntry = AuditedRequest & {
  /** At its end. */
  readonly wallMs: number
}

/** Hashes of tokens that are kept, so that one costs a look into a table. */
const hashesKeptMax = 4_096
const keyIdLength = 8

/** Hashes secrets under one key. */
export class SecretHasher {
  readonly keyId: string
  readonly #key: KeyObject
  readonly #kept = new Map<string, string>()

  constructor(keyId: string, key: Uint8Array) {
    this.keyId = keyId
    this.#key = createSecretKey(key)
  }

  /** `hmac-sha256:<which key>:<hash>`; in the hash are 256 bits. */
  of(secret: string): string {
    const known = this.#kept.get(secret)
    if (known !== undefined) return known
    const hash = createHmac('sha256', this.#key).update(secret).digest('hex')
    const text = `hmac-sha256:${this.keyId.slice(0, keyIdLength)}:${hash}`
    if (this.#kept.size >= hashesKeptMax) this.#kept.clear()
    this.#kept.set(secret, text)
    return text
  }
}

/** `hasher`: null while this server lacks the cluster key; then tokens have no hash. */
export function auditLine(server: string, entry: AuditEntry, hasher: SecretHasher | null): string {
  const { token, accessor, route, error, durationMs } = entry
  const line = {
    time: new Date(entry.wallMs).toISOString(),
    type: 'request',
    server,
    id: entry.requestId,
    remote: entry.remote,
    method: entry.method,
    path: shownTarget(entry.url, route, token),
    route,
    call: entry.call,
    accessor: token === null ? 'anonymous' : (accessor ?? 'unknown'),
    token: token === null || hasher === null ? null : hasher.of(token),
    status: entry.status,
    error: error === null ? null : shownError(error, token),
    ms: Math.round(durationMs * 1_000) / 1_000,
    forwarded: entry.forwarded,
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
