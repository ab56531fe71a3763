/** What a server answers with: the methods of its domains to other servers, and to clients over HTTP, with an audit log of these. */
import { randomBytes } from 'node:crypto'
import { defaultHttpLimits } from '../api/http-limits.ts'
import { Outgoing } from '../api/outgoing.ts'
import { HttpServer } from '../api/server.ts'
import type { Composed } from '../domains/domain.ts'
import { auditEvents, authorizer as authorizerKey, secretHasher } from '../domains/host.ts'
import type { HeapGrowth } from '../lib/heap-growth.ts'
import { SentWrites } from '../rpc/sent-writes.ts'
import { ServerDispatcher } from '../rpc/server-dispatcher.ts'
import type { Services } from '../rpc/services.ts'
import { AuditLog } from '../runtime/audit.ts'
import { httpSettingsOf } from '../runtime/http-settings.ts'
import type { RuntimeDependencies } from '../runtime/process.ts'
import { knowsAgents } from './agents.ts'
import type { Cluster } from './cluster.ts'
import { serverDirectory } from './directory.ts'
import { serverMethods } from './peer-methods.ts'
import type { ServerConfig } from './server-config.ts'
import { sendStateMethod } from './state-transfer.ts'
import type { Telemetry } from './telemetry.ts'
import { serverBearers } from './token-bearers.ts'

export type Front = {
  readonly dispatcher: ServerDispatcher
  readonly sent: SentWrites
  readonly audit: AuditLog
  readonly http: HttpServer
}

export type FrontOptions = {
  readonly config: ServerConfig
  readonly dependencies: RuntimeDependencies
  readonly cluster: Cluster
  readonly composed: Composed
  readonly services: Services
  readonly telemetry: Telemetry
  readonly heapGrowth: HeapGrowth
  /** Owns what is opened. */
  readonly opened: AsyncDisposableStack
}

/** Nothing listens yet. */
export async function openFront(options: FrontOptions): Promise<Front> {
  const { config, cluster, composed, services, telemetry, heapGrowth, opened } = options
  const { logger, clock, random } = options.dependencies
  const { id, stack, consensus, addressOf, encode } = cluster
  const { node, machine, link } = stack

  const authorizer = services.get(authorizerKey)
  const audit = await AuditLog.open({
    server: config.name,
    settings: config.audit,
    bearers: serverBearers((token) => authorizer.accessorOf(token), services.get(secretHasher)),
    clock,
    log: logger.named('audit'),
  })
  opened.defer(() => audit.stop())
  services.provide(auditEvents, audit)

  const httpSettings = httpSettingsOf(config, logger.named('http'))
  const outgoing = new Outgoing({ ...defaultHttpLimits, ...httpSettings.limits })
  const prefix = randomBytes(9).toString('base64url')
  const sent = new SentWrites({ applied: machine, clock, prefix })
  opened.defer(() => sent.stop())
  const dispatcher = new ServerDispatcher({
    methods: [...composed.methods, ...serverMethods, sendStateMethod],
    services,
    consensus,
    link,
    servers: serverDirectory({ id, region: config.region, node, addressOf }),
    state: machine,
    authorizer,
    encode,
    sent,
    clock,
    log: logger.named('rpc'),
    limits: { parkedMax: config.limits.blockingQueriesMax },
    room: outgoing,
    crowded: (crowded) => heapGrowth.boundFor('crowd', crowded),
    audit: telemetry.callEnded,
  })
  const http = new HttpServer({
    ...httpSettings,
    outgoing,
    routes: composed.routes,
    dispatcher,
    clock,
    random,
    log: logger.named('http'),
    observerOf: telemetry.observerOf,
    audit,
    // Where no rule is needed, a token proves nothing.
    ...(config.acl.enabled &&
      config.acl.defaultPolicy === 'deny' && { knowsAgent: knowsAgents(authorizer) }),
  })
  return { dispatcher, sent, audit, http }
}

/** Lets this server's copy of the state become as new as the cluster; ended with the server. */
export function catchUp(dispatcher: ServerDispatcher, opened: AsyncDisposableStack): void {
  const stop = new AbortController()
  const catchingUp = dispatcher.catchUp(stop.signal)
  opened.defer(async () => {
    stop.abort()
    await catchingUp
  })
}
