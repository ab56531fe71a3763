/** The `limits` and `audit` blocks of a configuration: what one client may ask, and what is logged of it. */
import { join, resolve } from 'node:path'
import Type from 'typebox'
import { budgetBytesMin } from '../runtime/http-settings.ts'
import type { Complain } from './config-check.ts'
import { closed, count, emptyBlock, flag, path, size } from './config-values.ts'

const MiB = 2 ** 20
const GiB = 2 ** 30

const connectionsPerClientMax = 4_096
const bodiesBytesMaxDefault = 64 * MiB

export const limitsSchema = Type.Object(
  {
    http_body_bytes_max: size(64 * 1024, 64 * MiB, '64KiB to 64MiB', {
      default: '2MiB',
      about: 'larger bodies are 413; snapshots have their own rule',
    }),
    http_bodies_bytes_max: Type.Optional(
      size(MiB, 64 * GiB, '1MiB to 64GiB', {
        shown: '`"64MiB"`',
        about:
          'all bodies under way together: [Bodies](limits-and-audit.md#request-and-answer-bodies)',
      }),
    ),
    http_answer_bytes_max: size(1 * MiB, 4096 * MiB, '1MiB to 4GiB', {
      default: '64MiB',
      about:
        'answers that clients have not taken: [Slow readers](limits-and-audit.md#slow-readers)',
    }),
    http_connections_max: count(16, 1_000_000, {
      default: 16_384,
      about:
        'connections of all clients, of each listener; at most half of the open files that the system allows',
    }),
    http_connections_per_client_max: Type.Optional(
      count(1, 1_000_000, {
        shown: `\`${connectionsPerClientMax}\``,
        about: 'of one client address',
      }),
    ),
    http_max_conns_per_client: Type.Optional(
      count(1, 1_000_000, {
        shown: `\`${connectionsPerClientMax}\``,
        about: 'another name of `http_connections_per_client_max`',
      }),
    ),
    http_rate_per_client: count(0, 1_000_000, {
      default: 0,
      shown: '0: none',
      about:
        'requests a second, in the long run: [Limits of one client](limits-and-audit.md#limits-of-one-client)',
    }),
    http_burst_per_client: Type.Optional(
      count(1, 1_000_000, {
        shown: 'as the rate',
        about: 'requests that may come at once after a rest',
      }),
    ),
    http_concurrency_per_client: count(0, 1_000_000, {
      default: 0,
      shown: '0: none',
      about: 'requests that are under way',
    }),
    blocking_queries_max: count(1, 1_000_000, {
      default: 16_384,
      about: 'parked at the same time',
    }),
    event_streams_max: count(1, 4_096, {
      default: 1_024,
      about:
        'readers of [events](events.md) at a time; [shared](limits-and-audit.md#shared-capacity) by callers',
    }),
    events_kept_max: count(16, 10_000_000, {
      default: 65_536,
      about: 'changed rows kept in memory for readers that follow or come back; the oldest go',
    }),
    event_bytes_kept_max: Type.Optional(
      size(64 * 1024, 1024 * MiB, '64KiB to 1GiB', {
        shown: 'a sixteenth of `server.memory_target`',
        about: 'the same in bytes, each row with 32 for what is around it',
      }),
    ),
  },
  emptyBlock,
)

export const auditSchema = Type.Object(
  {
    enabled: flag({ default: false, about: 'each request of the API is logged' }),
    path: Type.Optional(
      path('the path of a file', {
        shown: '`audit/audit.log` in `data_dir`',
        about: 'its folder is made if it is not there',
      }),
    ),
    rotate_bytes: size(64 * 1024, 64 * GiB, '64KiB to 64GiB', {
      default: '100MiB',
      about: 'a file that is at least this long is followed by a new one',
    }),
    rotate_max_files: count(1, 1_000, { default: 10, about: 'earlier files that are kept' }),
    required: flag({ default: false, about: 'no request runs while nothing can be written' }),
  },
  {
    ...closed,
    default: {},
    about: '[Limits and the audit log](limits-and-audit.md)',
    shown: 'off',
  },
)

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

export function completeLimits(
  file: Type.StaticDecode<typeof limitsSchema>,
  memory: { readonly eventBytes: number },
  complain: Complain,
): LimitsConfig {
  const { http_max_conns_per_client: conns, http_connections_per_client_max: connections } = file
  if (conns !== undefined && connections !== undefined) {
    complain(
      'limits.http_max_conns_per_client',
      'is the same as limits.http_connections_per_client_max; set one of them',
    )
  }
  const ratePerClient = file.http_rate_per_client
  if (file.http_burst_per_client !== undefined && ratePerClient === 0) {
    complain(
      'limits.http_burst_per_client',
      'means nothing without limits.http_rate_per_client; set that too',
    )
  }
  const bodyBytesMax = file.http_body_bytes_max
  const bodiesBytesMin = budgetBytesMin(bodyBytesMax)
  const bodiesBytesMax =
    file.http_bodies_bytes_max ?? Math.max(bodiesBytesMaxDefault, bodiesBytesMin)
  if (bodiesBytesMax < bodiesBytesMin) {
    complain(
      'limits.http_bodies_bytes_max',
      'a quarter of it is for small bodies, and the rest is less than limits.http_body_bytes_max; give it more',
    )
  }
  return {
    httpBodyBytesMax: bodyBytesMax,
    httpBodiesBytesMax: bodiesBytesMax,
    httpConnectionsMax: file.http_connections_max,
    httpConnectionsPerClientMax: conns ?? connections ?? connectionsPerClientMax,
    httpRatePerClient: ratePerClient,
    httpBurstPerClient: file.http_burst_per_client ?? ratePerClient,
    httpConcurrencyPerClient: file.http_concurrency_per_client,
    httpAnswerBytesMax: file.http_answer_bytes_max,
    blockingQueriesMax: file.blocking_queries_max,
    eventStreamsMax: file.event_streams_max,
    eventsKeptMax: file.events_kept_max,
    eventBytesKeptMax: file.event_bytes_kept_max ?? memory.eventBytes,
  }
}

export function completeAudit(
  file: Type.StaticDecode<typeof auditSchema>,
  dataDir: string,
): AuditConfig {
  return {
    enabled: file.enabled,
    path: file.path === undefined ? join(dataDir, 'audit', 'audit.log') : resolve(file.path),
    rotateBytes: file.rotate_bytes,
    rotateFilesMax: file.rotate_max_files,
    required: file.required,
  }
}
