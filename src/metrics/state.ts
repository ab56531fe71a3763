/** The replicated state: LevelDB beneath it, and the readers that wait for changes. */
import type { Metrics, Reading } from './metrics.ts'

export type StoreLevel = {
  readonly level: number
  readonly files: number
  readonly bytes: number
  readonly compactionSeconds: number
  readonly readBytes: number
  readonly writtenBytes: number
}

/** `fsm/machine.ts` and `rpc/dispatch.ts` fit. */
export type StateSource = {
  storeStats(): {
    readonly levels: readonly StoreLevel[]
    readonly memoryBytes: number
    readonly unflushedBytes: number
  }
  watchStats(): { readonly parked: number; readonly wakes: number }
  parkedQueries(): number
  requestsUnderWay(): number
  callsUnderWay(): number
}

export function stateMetrics(metrics: Metrics, source: StateSource): void {
  const byLevel = (read: (level: StoreLevel) => number) => (): readonly Reading[] =>
    source
      .storeStats()
      .levels.map((level) => ({ labels: { level: String(level.level) }, value: read(level) }))
  const labelNames = ['level']
  metrics.gauges({
    name: 'muster_leveldb_files',
    help: 'Table files, by level',
    labelNames,
    read: byLevel(({ files }) => files),
  })
  metrics.gauges({
    name: 'muster_leveldb_size_bytes',
    help: 'Table files in bytes, by level, to the MiB',
    labelNames,
    read: byLevel(({ bytes }) => bytes),
  })
  metrics.counters({
    name: 'muster_leveldb_compaction_seconds_total',
    help: 'Time spent in compactions, by level, to the second',
    labelNames,
    read: byLevel(({ compactionSeconds }) => compactionSeconds),
  })
  metrics.counters({
    name: 'muster_leveldb_compaction_read_bytes_total',
    help: 'Read by compactions, by level, to the MiB',
    labelNames,
    read: byLevel(({ readBytes }) => readBytes),
  })
  metrics.counters({
    name: 'muster_leveldb_compaction_written_bytes_total',
    help: 'Written by compactions, by level, to the MiB',
    labelNames,
    read: byLevel(({ writtenBytes }) => writtenBytes),
  })
  metrics.gauge(
    'muster_leveldb_memory_bytes',
    'Memory tables and cached blocks',
    () => source.storeStats().memoryBytes,
  )
  metrics.gauge(
    'muster_leveldb_unflushed_bytes',
    'Rows that are in no table file yet',
    () => source.storeStats().unflushedBytes,
  )
  metrics.gauge('muster_queries_parked', 'Blocking queries that wait for a change', () =>
    source.parkedQueries(),
  )
  metrics.gauge('muster_watches', 'Readers parked at the state', () => source.watchStats().parked)
  metrics.counter(
    'muster_watch_wakes_total',
    'Readers that were woken by a change',
    () => source.watchStats().wakes,
  )
  metrics.gauge(
    'muster_http_requests_under_way',
    'Requests that are not answered to their end, blocking queries among them',
    () => source.requestsUnderWay(),
  )
  metrics.gauge(
    'muster_rpc_requests_under_way',
    'Calls of methods that have not ended, parked queries and calls of other servers among them',
    () => source.callsUnderWay(),
  )
}
