/** What a client agent answers with: its own methods and routes, everything else by the servers, and an audit log of these. */
import { HttpServer } from '../api/server.ts'
import type { composeDomains } from '../domains/domain.ts'
import { LocalDispatcher } from '../rpc/local-dispatcher.ts'
import type { Services } from '../rpc/services.ts'
import { AuditLog } from '../runtime/audit.ts'
import { httpSettingsOf } from '../runtime/http-settings.ts'
import type { RuntimeDependencies } from '../runtime/process.ts'
import type { ClientConfig } from './client-config.ts'
import { clientCallers } from './permissions.ts'
import { ApiProxy } from './proxy.ts'
import { atItsPlace, clientFront, clientRoutes, elsewhereOf } from './routes.ts'
import type { ClientTelemetry } from './telemetry.ts'
import type { Ways } from './ways.ts'

export type Front = {
  readonly dispatcher: LocalDispatcher
  readonly audit: AuditLog
  readonly http: HttpServer
}

export type FrontOptions = {
  readonly id: string
  readonly config: ClientConfig
  readonly dependencies: RuntimeDependencies
  readonly domains: ReturnType<typeof composeDomains>
  readonly services: Services
  readonly ways: Ways
  readonly telemetry: ClientTelemetry
  /** Owns what is opened. */
  readonly opened: AsyncDisposableStack
}

/** Nothing listens yet. */
export async function openFront(options: FrontOptions): Promise<Front> {
  const { id, config, domains, services, ways, telemetry, opened } = options
  const { logger, clock, random } = options.dependencies
  const { servers, upstream } = ways
  const { name } = config
  const { agentToken } = config.acl
  const self = agentToken === null ? null : { node: name, token: agentToken }
  const { authorizer, bearers } = clientCallers({
    settings: config.acl,
    upstream,
    self,
    clock,
    log: logger.named('acl'),
  })
  const audit = await AuditLog.open({
    server: name,
    settings: config.audit,
    bearers,
    clock,
    log: logger.named('audit'),
  })
  opened.defer(() => audit.stop())
  const dispatcher = new LocalDispatcher({
    methods: domains.methods,
    services,
    authorizer,
    clock,
    log: logger.named('rpc'),
    audit: telemetry.callEnded,
  })
  const proxy = new ApiProxy(upstream, (place) => servers.demote(place), self)
  services.provide(clientFront, { proxy, id, node: name })
  const http = new HttpServer({
    ...httpSettingsOf(config, logger.named('http')),
    routes: [...domains.routes.map(atItsPlace), ...clientRoutes],
    elsewhere: elsewhereOf(proxy),
    dispatcher,
    clock,
    random,
    log: logger.named('http'),
    observerOf: telemetry.observerOf,
    audit,
  })
  return { dispatcher, audit, http }
}
