/** The `limits` and `audit` blocks of a configuration: what one client may ask, and what is logged of it. */
import { join, resolve } from 'node:path'
import { budgetBytesMin } from '../runtime/http-settings.ts'
import type { Complain } from './config-listeners.ts'
import { type ConfigFile } from './config-schema.ts'
import { parseSize } from './config-values.ts'

/** Counts; 0: no limit, but for connections. Sizes in bytes. */
export type LimitsConfig = {
  readonly httpBodyBytesMax: number
  /** All bodies under way together. */
  readonly httpBodiesBytesMax: number
  readonly httpConnectionsMax: number
  readonly httpConnectionsPerClientMax: number
  /** Requests a second. */
  readonly httpRatePerClient: number
  /** At least 1 where there is a rate. */
  readonly httpBurstPerClient: number
  readonly httpConcurrencyPerClient: number
  /** Of answers that clients have not taken. */
  readonly httpAnswerBytesMax: number
  readonly blockingQueriesMax: number
  readonly eventStreamsMax: number
  readonly eventsKeptMax: number
  readonly eventBytesKeptMax: number
}

export type AuditConfig = {
  readonly enabled: boolean
  /** Absolute. */
  readonly path: string
  readonly rotateBytes: number
  readonly rotateFilesMax: number
  readonly required: boolean
}

const MiB = 2 ** 20

export function completeLimits(
  file: NonNullable<ConfigFile['limits']>,
  complain: Complain,
): LimitsConfig {
  const { http_max_conns_per_client: conns, http_connections_per_client_max: connections } = file
  if (conns !== undefined && connections !== undefined) {
    complain(
      'limits.http_max_conns_per_client',
      'is the same as limits.http_connections_per_client_max; set one of them',
    )
  }
  const ratePerClient = file.http_rate_per_client ?? 0
  if (file.http_burst_per_client !== undefined && ratePerClient === 0) {
    complain(
      'limits.http_burst_per_client',
      'means nothing without limits.http_rate_per_client; set that too',
    )
  }
  const bodyBytesMax = sizeOr(file.http_body_bytes_max, 2 * MiB)
  const bodiesBytesMax = sizeOr(
    file.http_bodies_bytes_max,
    Math.max(64 * MiB, budgetBytesMin(bodyBytesMax)),
  )
  if (bodiesBytesMax < budgetBytesMin(bodyBytesMax)) {
    complain(
      'limits.http_bodies_bytes_max',
      'a quarter of it is for small bodies, and the rest is less than limits.http_body_bytes_max; give it more',
    )
  }
  return {
    httpBodyBytesMax: bodyBytesMax,
    httpBodiesBytesMax: bodiesBytesMax,
    httpConnectionsMax: file.http_connections_max ?? 16_384,
    httpConnectionsPerClientMax: conns ?? connections ?? 4_096,
    httpRatePerClient: ratePerClient,
    httpBurstPerClient: file.http_burst_per_client ?? ratePerClient,
    httpConcurrencyPerClient: file.http_concurrency_per_client ?? 0,
    httpAnswerBytesMax: sizeOr(file.http_answer_bytes_max, 64 * MiB),
    blockingQueriesMax: file.blocking_queries_max ?? 16_384,
    eventStreamsMax: file.event_streams_max ?? 1_024,
    eventsKeptMax: file.events_kept_max ?? 65_536,
    eventBytesKeptMax: sizeOr(file.event_bytes_kept_max, 32 * MiB),
  }
}

export function completeAudit(
  file: NonNullable<ConfigFile['audit']>,
  dataDir: string,
): AuditConfig {
  return {
    enabled: file.enabled ?? false,
    path: file.path === undefined ? join(dataDir, 'audit', 'audit.log') : resolve(file.path),
    rotateBytes: sizeOr(file.rotate_bytes, 100 * MiB),
    rotateFilesMax: file.rotate_max_files ?? 10,
    required: file.required ?? false,
  }
}

function sizeOr(value: string | number | undefined, bytes: number): number {
  return value === undefined ? bytes : (parseSize(value) ?? bytes)
}
