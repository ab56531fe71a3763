/** The memory that a server takes, beside what it is to get by with. */
import type { Metrics } from './metrics.ts'

/** `server/memory.ts` fits. */
export type MemorySource = {
  readonly targetBytes: number
  readonly bytes: number
  readonly isShort: boolean
}

export function memoryMetrics(metrics: Metrics, source: MemorySource): void {
  metrics.gauge(
    'muster_memory_target_bytes',
    'Memory that this server is to get by with',
    () => source.targetBytes,
  )
  metrics.gauge(
    'muster_memory_own_bytes',
    'Memory that is resident, without mapped files',
    () => source.bytes,
  )
  metrics.gauge(
    'muster_memory_short',
    '1 while caches are small because more memory is taken than the target',
    () => (source.isShort ? 1 : 0),
  )
}
