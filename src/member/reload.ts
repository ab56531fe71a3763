/** Reading again what was read at start, all of it or as much of it as is good. */
import type { HttpServer } from '../api/server.ts'
import type { AuditLog, AuditSettings } from './audit.ts'
import { clientLimitsOf, type LimitSettings } from './client-limits.ts'

/** What a configuration may change while an agent runs. */
export type ReloadableSettings = {
  readonly limits: LimitSettings
  readonly audit: AuditSettings
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
    to.http.configureClientLimits({ ...clientLimitsOf(limits), connectionsPerClientMax })
    this.#settings = { limits, audit: this.#settings.audit }
    await to.audit.reload(next.audit)
    this.#settings = { limits, audit: next.audit }
  }
}
