/** Reading again what was read at start, all of it or as much of it as is good. */
import type { HttpServer } from '../api/server.ts'
import type { Composed } from '../domains/domain.ts'
import type { Definitions } from '../domains/local-services/definitions.ts'
import type { AuditLog, AuditSettings } from './audit.ts'
import { clientLimitsOf, type LimitSettings } from './client-limits.ts'
import { definedServices, type DefinitionSettings } from './defined-services.ts'
import { browserSettingsOf, type NamedProcess } from './browser-settings.ts'
import { reloadAll } from './reload-all.ts'
import type { AgentSettings } from './shown-config.ts'

/** What a configuration may change while an agent runs. */
export type ReloadableSettings = NamedProcess &
  Pick<AgentSettings, 'logLevel' | 'logJson'> & {
    readonly limits: LimitSettings
    readonly audit: AuditSettings
    readonly definitions: DefinitionSettings
  }

/** The settings that hold now. Those of the start, until others are applied. */
export class Reloadable {
  #settings: ReloadableSettings
  #definitions: Definitions

  /** Throws `invalid_argument` for wrong services and checks. */
  constructor(settings: ReloadableSettings) {
    this.#settings = settings
    this.#definitions = definedServices(settings.definitions)
  }

  get settings(): ReloadableSettings {
    return this.#settings
  }

  /** Services and checks of the configuration files. */
  readonly definitions = (): Definitions => this.#definitions

  /** Throws `invalid_argument` for an audit log that cannot be had, or wrong services and checks, which then stay as they were. */
  async apply(
    next: ReloadableSettings,
    to: {
      readonly http: HttpServer
      readonly audit: AuditLog
      readonly domains: Pick<Composed, 'reload'>
    },
  ): Promise<void> {
    const { limits, audit, definitions, http, logLevel, logJson } = next
    const connectionsPerClientMax = limits.httpConnectionsPerClientMax
    to.http.configureClientLimits({ ...clientLimitsOf(limits), connectionsPerClientMax })
    // The log is the process's, which has set it by now: its form is shown.
    this.#settings = { ...this.#settings, limits, http, logLevel, logJson }
    to.http.configureBrowsers(browserSettingsOf(this.#settings))
    await reloadAll([
      async () => {
        await to.audit.reload(audit)
        this.#settings = { ...this.#settings, audit }
      },
      async () => {
        this.#definitions = definedServices(definitions)
        await to.domains.reload()
      },
    ])
  }
}
