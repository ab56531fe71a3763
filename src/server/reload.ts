/** Reading again what was read at start, all of it or as much of it as is good. */
import type { HttpServer } from '../api/server.ts'
import type { ClientLimitSettings } from '../api/client-limits.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { AuditLog, AuditSettings } from './audit.ts'

/** What a configuration may change while a server runs. */
export type ReloadableSettings = {
  readonly limits: {
    readonly httpConnectionsPerClientMax: number
    readonly httpRatePerClient: number
    readonly httpBurstPerClient: number
    readonly httpConcurrencyPerClient: number
  }
  readonly audit: AuditSettings
}

/** One that fails keeps no other from being read. Throws one line for all that stay as they were. */
export async function reloadAll(
  reloads: readonly (() => Promise<void> | undefined)[],
): Promise<void> {
  const failures: string[] = []
  for (const reload of reloads) {
    try {
      await reload()
    } catch (error) {
      failures.push(textOf(error).replaceAll('\n', '; '))
    }
  }
  if (failures.length > 0) throw new MusterError('invalid_argument', failures.join('; '))
}

export function clientLimitsOf({ limits }: ReloadableSettings): ClientLimitSettings {
  return {
    ratePerSecond: limits.httpRatePerClient,
    burst: limits.httpBurstPerClient,
    concurrency: limits.httpConcurrencyPerClient,
  }
}

/** The settings that hold now. Those of the start, until others are applied. */
export class Reloadable {
  #settings: ReloadableSettings

  constructor(settings: ReloadableSettings) {
    this.#settings = settings
  }

  get settings(): ReloadableSettings {
    return this.#settings
  }

  /** Throws `invalid_argument` for an audit log that cannot be had, which then stays as it was. */
  async apply(
    next: ReloadableSettings,
    to: { readonly http: HttpServer; readonly audit: AuditLog },
  ): Promise<void> {
    const { limits } = next
    const connectionsPerClientMax = limits.httpConnectionsPerClientMax
    to.http.configureClientLimits({ ...clientLimitsOf(next), connectionsPerClientMax })
    this.#settings = { limits, audit: this.#settings.audit }
    await to.audit.reload(next.audit)
    this.#settings = { limits, audit: next.audit }
  }
}
