/**
 * The composition root of a client agent, and its parts: a member of the gossip pool without a vote and without state. It
 * runs services and checks of its machine, keeps its node in the catalog, and passes everything else on to the servers,
 * whom it knows by gossip. It talks to servers over the network alone; only `process` and `main` import it.
 */
import { OpsServer } from '../api/ops.ts'
import { HttpServer } from '../api/server.ts'
import { localDomains, provideLocal } from '../domains/local-registry.ts'
import { monitors } from '../domains/process/services.ts'
import { localServices } from '../domains/local-services/services.ts'
import { composeDomains } from '../domains/domain.ts'
import { eventStreamPath } from '../domains/events/routes.ts'
import { statusPaths } from '../domains/operator/routes.ts'
import { assert } from '../lib/assert.ts'
import { MusterError } from '../lib/errors.ts'
import { definedServices } from '../runtime/defined-services.ts'
import { nodeOfAgent } from '../runtime/agent-node.ts'
import { AuditLog } from '../runtime/audit.ts'
import { GossipPool } from '../gossip-pool/pool.ts'
import { clientTagsOf, memberName } from '../gossip-pool/tags.ts'
import type { HttpAddress } from '../lib/host-port.ts'
import { httpSettingsOf } from '../runtime/http-settings.ts'
import { loadNodeId } from '../runtime/identity.ts'
import { Listeners } from '../runtime/listeners.ts'
import type { RuntimeDependencies, RunningProcess } from '../runtime/process.ts'
import { Reloadable, type ReloadableSettings } from '../runtime/reload.ts'
import { reloadAll } from '../runtime/reload-all.ts'
import { userEventPool } from '../gossip-pool/user-event-pool.ts'
import { LocalDispatcher } from '../rpc/local-dispatcher.ts'
import { Services } from '../rpc/services.ts'
import { ClientCatalogLink } from './catalog-link.ts'
import type { ClientConfig } from './client-config.ts'
import { requestJsonOf } from './json-request.ts'
import { ApiProxy } from './proxy.ts'
import { clientCallers } from './permissions.ts'
import { clientRoutes } from './routes.ts'
import { ServerTrust } from './server-trust.ts'
import { Servers } from './servers.ts'
import { ClientTelemetry } from './telemetry.ts'
import { clientProcessInfo } from './process-info.ts'
import { UntrustedLog } from './untrusted-log.ts'
import { Upstream } from './upstream.ts'

/** A reload reads limits of clients and the audit log's settings, whose file is opened anew. */
export type RunningClient = RunningProcess<'http' | 'gossip' | 'ops', ReloadableSettings>

/** Requests under way when the agent stops have this long to end. */
const drainMs = 5_000
/** A server that an operator named has this long to answer. */
const probeMs = 5_000

export async function startClient(
  config: ClientConfig,
  dependencies: RuntimeDependencies,
): Promise<RunningClient> {
  const { logger, clock, random, origin } = dependencies
  const { dataDir, region, datacenter, name } = config
  await using opened = new AsyncDisposableStack()

  const definitions = definedServices(config.definitions)
  const listeners = await Listeners.prepare(config.listeners)
  const trust = await ServerTrust.load(config.tls, region)
  if (trust.warning !== null) logger.warn(trust.warning)
  const telemetry = new ClientTelemetry(clock)
  opened.defer(() => telemetry.stop())
  let serving = false

  const id = await loadNodeId(dataDir, 'client')
  const pool = await GossipPool.start({
    name: memberName(name, region),
    tags: clientTagsOf({ id, region, datacenter, version: origin.version }),
    dataFolder: dataDir,
    bindAddress: config.bindAddr,
    advertiseAddress: config.advertiseAddr,
    port: config.ports.gossip,
    retryJoin: config.client.gossip.retryJoin,
    encrypt: config.client.gossip.encrypt,
    clock,
    random,
    logger: logger.named('gossip'),
    onFatal: (error) => {
      serving = false
      dependencies.onFatal(error)
    },
  })
  opened.defer(() => pool.stop())
  const { gossip } = pool

  const untrusted = new UntrustedLog(clock, logger.named('servers'))
  const upstream: Upstream = new Upstream({
    places: () => servers.places,
    onFailed: (place, error) => {
      servers.demote(place)
      untrusted.add(place, error)
    },
    trust,
    clock,
  })
  opened.defer(() => upstream.stop())
  const servers = new Servers({
    gossip,
    region,
    random,
    tlsOnly: trust.tlsOnly,
    probe: (place) => probe(upstream, place),
    onGone: (place) => upstream.drop(place),
  })
  opened.defer(() => servers.stop())

  const link = new ClientCatalogLink(upstream, config.acl.agentToken)
  opened.defer(() => link.stop())
  const reloadable = new Reloadable(config)
  const services = new Services()
  provideLocal(services, {
    agent: clientProcessInfo({
      id,
      config,
      reloadable,
      origin,
      gossip,
      servers,
      warning: trust.warning,
      logTap: dependencies.logTap,
      reload: dependencies.reload,
    }),
    members: { server: name, region, datacenter, pool: gossip },
    userEvents: userEventPool(gossip),
    definitions,
    local: {
      node: nodeOfAgent(id, config, {
        version: origin.version,
        address: gossip.local().address,
        gossip: gossip.local().endpoint,
      }),
      dataFolder: dataDir,
      scripts: config.scriptChecks,
      link,
    },
    metrics: telemetry,
  })
  const composed = composeDomains(localDomains, services, { clock, log: logger })

  const { authorizer, bearers } = clientCallers({
    settings: config.acl,
    upstream,
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
    services,
    authorizer,
    clock,
    log: logger.named('rpc'),
    audit: telemetry.callEnded,
  })
  opened.defer(() => composed.stop())
  await composed.start()
  pool.search(() => Promise.resolve([]))

  const passOn = new ApiProxy(upstream, (place) => servers.demote(place))
  const http = new HttpServer({
    ...httpSettingsOf(config),
    routes: clientRoutes({ routes: composed.routes, passOn, self: { id, node: name } }),
    elsewhere: { route: passOn.route, websocketPaths: [eventStreamPath], publicPaths: statusPaths },
    dispatcher,
    clock,
    random,
    log: logger.named('http'),
    observerOf: telemetry.observerOf,
    audit,
  })
  telemetry.start({ http, audit, monitors: services.get(monitors), dispatcher, gossip })
  const ops = new OpsServer({
    healthy: () => serving && servers.list().length > 0,
    metrics: () => telemetry.text(),
  })
  opened.defer(() => ops.stop())
  const opsListeners = await listeners.open('ops', ops)
  opened.defer(() => http.stop(drainMs))
  const apis = await listeners.open('api', http)

  opened.defer(async () => {
    serving = false
    if (config.leaveOnTerminate) await pool.leave()
  })

  const owned = opened.move()
  assert(!owned.disposed, 'what was opened is owned by the running client agent')
  serving = true
  return {
    addresses: {
      http: apis.map(({ address }) => address).join(','),
      gossip: gossip.local().endpoint,
      ops: opsListeners.map(({ address }) => address).join(','),
    },
    announceStop: () => {
      serving = false
    },
    reload: (readConfig) =>
      reloadAll([
        () => listeners.reload(),
        () => trust.reload(),
        async () =>
          reloadable.apply(await readConfig(), {
            http,
            audit,
            localAgent: services.get(localServices),
          }),
      ]),
    stop: () => owned.disposeAsync(),
  }
}

async function probe(upstream: Upstream, place: HttpAddress): Promise<void> {
  const ask = { method: 'GET', url: '/v1/status/peers', token: null, timeoutMs: probeMs } as const
  const { status, text } = await requestJsonOf(upstream, place, ask)
  if (status !== 200) throw new MusterError('unavailable', `it said ${status}: ${text}`)
}
