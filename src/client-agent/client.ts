/**
 * The composition root of a client agent, and its parts: a member of the gossip pool without a vote and without state. It
 * runs services and checks of its machine, keeps its node in the catalog, and passes everything else on to the servers,
 * whom it knows by gossip. It talks to servers over the network alone; only `process` and `main` import it.
 */
import { OpsServer } from '../api/ops.ts'
import { composeDomains } from '../domains/domain.ts'
import { localDomains } from '../domains/local-registry.ts'
import { GossipPool } from '../gossip-pool/pool.ts'
import { clientTagsOf, memberName } from '../gossip-pool/tags.ts'
import { assert } from '../lib/assert.ts'
import { Services } from '../rpc/services.ts'
import { loadIdentity } from '../runtime/identity.ts'
import { reachableApi } from '../runtime/listeners.ts'
import type { RuntimeDependencies, RunningProcess } from '../runtime/process.ts'
import type { ReloadableSettings } from '../runtime/reload.ts'
import { reloadAll } from '../runtime/reload-all.ts'
import type { ClientConfig } from './client-config.ts'
import { drainMsMax, drainNode } from './drain-on-shutdown.ts'
import { fingerprint } from './fingerprint.ts'
import { openFront } from './front.ts'
import { loadNodeSecret } from './node-secret.ts'
import { provide } from './provided.ts'
import { readAtStart } from './read-at-start.ts'
import { workFolders } from './runner/runner.ts'
import { storageOf } from './storage.ts'
import { ClientTelemetry } from './telemetry.ts'
import { UplinkKeeper } from './uplink-keeper.ts'
import { openWays } from './ways.ts'
import { openWork } from './work.ts'

/** A reload reads limits of clients and the audit log's settings, whose file is opened anew. */
export type RunningClient = RunningProcess<'http' | 'gossip' | 'ops', ReloadableSettings>

/** Requests under way when the agent stops have this long to end. */
const drainMs = 5_000

export async function startClient(
  config: ClientConfig,
  dependencies: RuntimeDependencies,
): Promise<RunningClient> {
  const { logger, clock, random, origin } = dependencies
  const { region, name, dataDir, acl } = config
  await using opened = new AsyncDisposableStack()

  const { reloadable, listeners, trust } = await readAtStart(config)
  const { warning } = trust
  if (warning !== null) logger.warn(warning)
  const telemetry = new ClientTelemetry(clock)
  opened.defer(() => telemetry.stop())
  let serving = false
  const { id } = await loadIdentity(dataDir, 'client')
  const onFatal = (error: unknown): void => {
    serving = false
    dependencies.onFatal(error)
  }
  const pool = await startPool(config, { ...dependencies, onFatal }, id)
  opened.defer(() => pool.stop())
  const { gossip } = pool
  let uplink: UplinkKeeper | null = null
  const ways = openWays(
    { region, trust, gossip, onGone: (place) => uplink?.gone(place) },
    dependencies,
    opened,
  )

  const services = new Services()
  const own = { id, config, dependencies, gossip, ways, warning, reloadable, telemetry, opened }
  const work = await openWork({
    id,
    config,
    dependencies,
    services,
    contact: { silentMs: () => uplink?.beat?.agoMs ?? Infinity, renew: () => uplink?.beatNow() },
    ask: () => uplink?.ask ?? null,
  })
  const { runner, tasks, checks } = work
  const liveCount = () => runner.liveCount
  provide(services, { ...own, beat: () => uplink?.beat ?? null, tasks, checks, liveCount })
  const domains = composeDomains(localDomains, services, { clock, log: logger })
  const { dispatcher, audit, http } = await openFront({ ...own, domains, services })
  opened.defer(() => domains.stop())
  await domains.start()
  pool.search(() => Promise.resolve([]))

  telemetry.start({ http, audit, domains, dispatcher, gossip })
  const ops = new OpsServer({
    healthy: () => serving && ways.servers.list().length > 0,
    metrics: () => telemetry.text(),
  })
  opened.defer(() => ops.stop())
  const opsListeners = await listeners.open('ops', ops)
  opened.defer(() => http.stop(drainMs))
  const apis = await listeners.open('api', http)

  const api = reachableApi(apis, config.advertiseAddr)
  uplink = new UplinkKeeper({
    ...ways,
    node: { nodeId: id, name, secret: await loadNodeSecret(dataDir), token: acl.agentToken },
    spec: () =>
      fingerprint({
        config,
        version: origin.version,
        api,
        drivers: work.drivers.shown,
        storage,
      }),
    onCall: dispatcher.handleCall,
    onStream: dispatcher.handleStream,
    onRegistered: () => runner.wake(),
    clock,
    random,
    log: logger.named('uplink'),
  })
  const kept = uplink
  const drain = config.leaveOnTerminate ? config.client.work.drainOnShutdown : null
  opened.defer(() => kept.stop())
  // Before the uplink is open: what servers say must find what runs already.
  await runner.start()
  opened.defer(() => runner.stop())
  // Anew: what runs already is known by now. The uplink tells of it once it is open.
  const storage = await storageOf({
    folder: workFolders(dataDir).allocations,
    held: runner.heldFolders,
    clock,
  })
  const watching = work.watchDrivers(() => kept.tellAgain())
  opened.defer(() => watching.stop())
  kept.start()

  opened.defer(async () => {
    serving = false
    if (drain !== null) {
      await drainNode(drain, { ask: kept.ask, runner, clock, log: logger.named('work') })
    }
    if (work.endsWithAgent) await runner.stopTasks()
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
        async () => reloadable.apply(await readConfig(), { http, audit, domains }),
      ]),
    stop: () => owned.disposeAsync(),
    stopMsMax: (work.endsWithAgent ? work.endMsMax : 0) + (drain === null ? 0 : drainMsMax(drain)),
  }
}

function startPool(
  config: ClientConfig,
  { origin, clock, random, logger, onFatal }: RuntimeDependencies,
  id: string,
): Promise<GossipPool> {
  const { region, datacenter, client } = config
  return GossipPool.start({
    name: memberName(config.name, region),
    tags: clientTagsOf({ id, region, datacenter, version: origin.version }),
    dataFolder: config.dataDir,
    bindAddress: config.bindAddr,
    advertiseAddress: config.advertiseAddr,
    port: config.ports.gossip,
    retryJoin: client.gossip.retryJoin,
    encrypt: client.gossip.encrypt,
    clock,
    random,
    logger: logger.named('gossip'),
    onFatal,
  })
}
