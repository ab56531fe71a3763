/** Connections between servers: what goes over them, which were refused, and until when this server's certificate is good. */
import type { Metrics, Reading } from './metrics.ts'

/** Of one service between servers, by the path of its streams. */
export type StreamTraffic = {
  readonly path: string
  readonly streams: number
  readonly framesSent: number
  readonly framesReceived: number
  readonly bytesSent: number
  readonly bytesReceived: number
}

/** `wire/wire.ts` fits, with its kinds in a list. */
export type WireSource = {
  refusals(): readonly { readonly reason: string; readonly count: number }[]
  traffic(): readonly StreamTraffic[]
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
  const byPath = (read: (traffic: StreamTraffic) => number) => (): readonly Reading[] =>
    source.traffic().map((traffic) => ({ labels: { path: traffic.path }, value: read(traffic) }))
  const labelNames = ['path']
  metrics.gauges({
    name: 'muster_rpc_streams',
    help: 'Streams to and from other servers that are open, by path; each has a connection',
    labelNames,
    read: byPath(({ streams }) => streams),
  })
  const counters: readonly (readonly [string, string, (traffic: StreamTraffic) => number])[] = [
    ['frames_sent', 'Frames sent to other servers', ({ framesSent }) => framesSent],
    ['frames_received', 'Frames received from other servers', (of) => of.framesReceived],
    ['sent_bytes', 'Bytes of frames sent to other servers', ({ bytesSent }) => bytesSent],
    ['received_bytes', 'Bytes of frames received', ({ bytesReceived }) => bytesReceived],
  ]
  for (const [name, what, read] of counters) {
    const help = `${what}, by path`
    metrics.counters({ name: `muster_rpc_${name}_total`, help, labelNames, read: byPath(read) })
  }
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
