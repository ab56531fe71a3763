/** Connections between servers: which were refused, and until when this server's certificate is good. */
import type { Metrics } from './metrics.ts'

/** `wire/wire.ts` fits, with its kinds in a list. */
export type WireSource = {
  refusals(): readonly { readonly reason: string; readonly count: number }[]
  /** Null: servers speak without TLS. */
  certificateUntilMs(): number | null
}

export function wireMetrics(metrics: Metrics, source: WireSource): void {
  metrics.counters({
    name: 'muster_rpc_refused_total',
    help: 'Connections and streams between servers that were refused, in either direction',
    labelNames: ['reason'],
    read: () =>
      source.refusals().map(({ reason, count }) => ({ labels: { reason }, value: count })),
  })
  metrics.gauges({
    name: 'muster_rpc_certificate_expiry_timestamp_seconds',
    help: 'When the certificate that this server shows to others ends; absent without TLS',
    labelNames: [],
    read: () => {
      const untilMs = source.certificateUntilMs()
      return untilMs === null ? [] : [{ labels: {}, value: Math.floor(untilMs / 1000) }]
    },
  })
}
