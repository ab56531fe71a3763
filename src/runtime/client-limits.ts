/** Limits of each client's requests, as a configuration says them. */
import type { ClientLimitSettings } from '../api/client-limits.ts'

export type LimitSettings = {
  readonly httpConnectionsPerClientMax: number
  readonly httpRatePerClient: number
  readonly httpBurstPerClient: number
  readonly httpConcurrencyPerClient: number
}

export function clientLimitsOf(limits: LimitSettings): ClientLimitSettings {
  return {
    ratePerSecond: limits.httpRatePerClient,
    burst: limits.httpBurstPerClient,
    concurrency: limits.httpConcurrencyPerClient,
  }
}
