/**
 * The composition root of a server: builds the parts in order, wires them, and takes them down in reverse. The domains are
 * those of the registry; nothing here knows which.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { defaultHttpLimits } from '../api/http-limits.ts'
import { OpsServer } from '../api/ops.ts'
import { Outgoing } from '../api/outgoing.ts'
import { HttpServer } from '../api/server.ts'
import { aclAuthorizer } from '../domains/acl/authorizer.ts'
import { monitors } from '../domains/process/services.ts'
import { autopilotOf } from '../domains/autopilot/queries.ts'
import { localServices } from '../domains/local-services/services.ts'
import { domains, serverDomains } from '../domains/registry.ts'
import { composeServer } from '../domains/server-parts.ts'
import { eventBuffer } from '../domains/events/services.ts'
import { onView } from '../domains/host.ts'
import { scheduledSnapshots } from '../domains/operator/services.ts'
import { clusterKeyring } from '../domains/variables/services.ts'
import { ClusterKeys } from '../domains/variables/cluster-key.ts'
import { raiseVersion } from '../fsm/cluster-version.ts'
import { commandVersion } from '../fsm/codec.ts'
import type { Command } from '../fsm/domain.ts'
import { assert } from '../lib/assert.ts'
import { MusterError } from '../lib/errors.ts'
import { boundHeapGrowth } from '../lib/heap-growth.ts'
import { ServerDispatcher } from '../rpc/server-dispatcher.ts'
import type { CallHandler, StreamHandler } from '../rpc/link.ts'
import { SentWrites } from '../rpc/sent-writes.ts'
import { Services } from '../rpc/services.ts'
import { typedPropose, Writer } from '../rpc/write.ts'
import { readResetIndex } from './acl-reset.ts'
import { clusterHasher, serverBearers } from './audit-hasher.ts'
import { ServerCatalogLink } from './catalog-link.ts'
import { Autopilot } from './autopilot.ts'
import { serverKnownNodes } from './known-nodes.ts'
import { RaftConsensus, type AddressOf } from './consensus.ts'
import { startConsensus } from './consensus-stack.ts'
import { DiskProbe } from './disk-probe.ts'
import { handOver } from './handover.ts'
import { AuditLog } from '../runtime/audit.ts'
import { hostPort } from '../lib/host-port.ts'
import { httpSettingsOf } from '../runtime/http-settings.ts'
import { loadNodeId } from '../runtime/identity.ts'
import type { RuntimeDependencies, RunningProcess } from '../runtime/process.ts'
import { Reloadable, type ReloadableSettings } from '../runtime/reload.ts'
import { reloadAll } from '../runtime/reload-all.ts'
import { Leadership } from './leadership.ts'
import { definedServices } from '../runtime/defined-services.ts'
import { nodeOfAgent } from '../runtime/agent-node.ts'
import { Listeners, reachableApi } from '../runtime/listeners.ts'
import { userEventPool } from '../gossip-pool/user-event-pool.ts'
import { serverDirectory } from './directory.ts'
import { ServerMembership } from './membership.ts'
import { membershipAnswers, serverMethods } from './peer-methods.ts'
import { gossipPeers } from './gossip-peers.ts'
import { listedPeers, staticPeers, type PeerSource } from './peer-source.ts'
import { ProvenAddresses } from './proven-addresses.ts'
import { loadRpcTls, rpcWarningOf } from './rpc-tls.ts'
import { serverLink } from './server-link.ts'
import { raftControl } from './raft-control.ts'
import { startPool } from './start-pool.ts'
import { serverProcessInfo } from './process-info.ts'
import { Telemetry } from './telemetry.ts'
import type { ServerConfig } from './server-config.ts'

export type { ServerConfig } from './server-config.ts'

/**
 * A reload reads limits of clients and the audit log's settings, whose file is opened anew. A stop hands over leadership
 * and finishes open requests first.
 */
export type RunningServer = RunningProcess<'http' | 'rpc' | 'gossip' | 'ops', ReloadableSettings>

/** Requests under way when the server stops have this long to end. */
const drainMs = 5_000
/** How long a request with a token that is not known here waits for the leader to say that there is none. */
const tokenWaitMs = 2_000
const unending = new AbortController().signal
/** A duty's command that is not confirmed by then is tried again in the duty's next round. */
const dutyWriteMs = 10_000

export async function startServer(
  config: ServerConfig,
  dependencies: RuntimeDependencies,
): Promise<RunningServer> {
  const { logger, clock, random } = dependencies
  const { bindAddr, ports, dataDir } = config
  await using opened = new AsyncDisposableStack()

  const definitions = definedServices(config.definitions)
  const listeners = await Listeners.prepare(config.listeners)
  const { rpc } = config.tls
  const tlsOptions = { region: config.region, clock, logger: logger.named('tls') }
  const tls = rpc === null ? null : await loadRpcTls({ settings: rpc, ...tlsOptions })
  const openTo = rpcWarningOf(rpc)
  if (openTo !== null) logger.warn(openTo)
  const telemetry = new Telemetry(clock)
  opened.defer(() => telemetry.stop())
  /** Whether requests should come here: once all is up, until a stop or a failure. */
  let serving = false

  const id = await loadNodeId(dataDir, 'server')
  const clusterKeys = await ClusterKeys.load(dataDir, config.server.keyringKeyFile)
  const peers = config.server.peers.map(({ name, host, port }) => ({
    name,
    address: hostPort(host, port),
  }))
  let source: PeerSource = staticPeers(peers)
  const addressOf: AddressOf = (member) => source.addressOf(member) ?? member.address

  // Other servers may call before everything is wired; they are told to come again.
  let onCall: CallHandler = () => Promise.reject(starting())
  let onStream: StreamHandler = () => Promise.reject(starting())
  const stack = await startConsensus({
    id,
    dataFolder: dataDir,
    bindAddress: bindAddr,
    rpcPort: ports.rpc,
    timing: config.server.raft,
    limits: config.server.raft,
    leaseReads: config.server.raft.leaseReads,
    domains,
    addressOf,
    tls,
    onCall: (request, signal) => onCall(request, signal),
    onStream: (request, signal) => onStream(request, signal),
    times: telemetry.raftTimes,
    clock,
    random,
    logger,
    onFatal: (error) => {
      serving = false
      dependencies.onFatal(error)
    },
  })
  opened.defer(() => stack.stop())
  const { node, machine, link } = stack
  const disk = new DiskProbe({ folder: stack.logFolder, clock, logger: logger.named('disk') })
  opened.defer(() => disk.stop())
  await disk.start()

  const advertised = hostPort(config.advertiseAddr, stack.rpcPort)
  let proven: ProvenAddresses | null = null
  const pool = await startPool(config, dependencies, { stack, id, onMoved: () => proven?.look() })
  if (pool !== null) {
    opened.defer(() => pool.stop())
    opened.defer(pool.follow(node))
    const known = pool.peers
    proven = new ProvenAddresses({
      members: () => node.status().configuration.members.filter((member) => member.id !== id),
      claimed: (serverId) => known.claimedAddress(serverId),
      answers: (address, serverId) => membership.answersAt(address, serverId),
      onMoved: () => stack.redial(),
      clock,
    })
    source = peers.length === 0 ? gossipPeers(known, proven) : listedPeers(source)
    const looking = proven
    opened.defer(() => looking.stop())
  }
  const autopilot = new Autopilot({
    selfId: id,
    version: dependencies.origin.version,
    status: () => node.status(),
    config: () => {
      using view = machine.view()
      return autopilotOf(view)
    },
    pool: () => pool?.peers.known() ?? null,
    heartbeatMs: config.server.raft.heartbeatMs,
    clock,
  })
  const consensus = new RaftConsensus(node, addressOf, clock)
  const encode = (command: Command, name: string | null) => machine.encodeCommand(command, name)
  const writer = new Writer({ consensus, encode, clock })
  const propose = typedPropose((command) =>
    writer.propose(command, clock.monotonicMs() + dutyWriteMs),
  )
  const clusterVersion = () => machine.commandVersion
  const membership = new ServerMembership({
    autopilot,
    self: { id, name: config.name, address: advertised },
    region: config.region,
    source,
    gossip: () => pool?.endpoint ?? null,
    bootstrapExpect: config.server.bootstrapExpect,
    node,
    link,
    logger: logger.named('membership'),
    clock,
    deadAfterMs: 2 * config.server.raft.electionMs,
    handOver: () => handOver(node, clock, logger),
    versions: {
      own: commandVersion,
      cluster: clusterVersion,
      raise: async (version) => {
        await propose(raiseVersion, { version })
      },
    },
  })

  const view = () => machine.view()
  const agentCatalog = new ServerCatalogLink({ consensus, link, view, propose, clock })
  opened.defer(() => agentCatalog.stop())
  const reloadable = new Reloadable(config)
  const services = new Services()
  services.provide(membershipAnswers, membership)
  const hasher = clusterHasher(() =>
    onView(view, (reader) => services.get(clusterKeyring).activeClusterKey(reader)),
  )
  const composed = composeServer(serverDomains, services, {
    acl: {
      ...config.acl,
      readResetIndex: () => readResetIndex(dataDir),
      auditHashOf: async (secret) => (await hasher())?.of(secret) ?? null,
    },
    clusterKeys,
    raft: raftControl({
      node,
      isGone: (serverId) => stack.isGone(serverId),
      pool: () => pool?.peers.known() ?? [],
      silentMs: 2 * config.server.raft.electionMs,
      clock,
    }),
    link: serverLink({ id, node, link, addressOf }),
    view,
    exportRows: () => machine.exportRows(),
    commandVersion: clusterVersion,
    restoreFolder: join(dataDir, 'restore'),
    snapshotSchedule: config.server.snapshots,
    freshen: (signal) =>
      consensus.readBarrier('linearizable', clock.monotonicMs() + dutyWriteMs, signal),
    agent: serverProcessInfo({
      id,
      config,
      reloadable,
      origin: dependencies.origin,
      node,
      commandVersion: clusterVersion,
      gossip: pool?.gossip ?? null,
      rpcAddress: advertised,
      logTap: dependencies.logTap,
      reload: dependencies.reload,
    }),
    health: () => autopilot.health(),
    members: {
      server: config.name,
      region: config.region,
      datacenter: config.datacenter,
      pool: pool?.gossip ?? null,
      giveUp: (name) => membership.giveUp(name),
    },
    userEvents: pool === null ? null : userEventPool(pool.gossip),
    agents: serverKnownNodes({
      gossip: pool?.gossip ?? null,
      node,
      config,
      clock,
    }),
    definitions,
    local: {
      node: nodeOfAgent(id, config, {
        version: dependencies.origin.version,
        address: pool?.gossip.local().address ?? config.advertiseAddr,
        gossip: null,
      }),
      dataFolder: dataDir,
      scripts: config.scriptChecks,
      link: agentCatalog,
    },
    metrics: telemetry,
    applied: machine,
    events: {
      readersMax: config.limits.eventStreamsMax,
      eventsMax: config.limits.eventsKeptMax,
      bytesMax: config.limits.eventBytesKeptMax,
    },
    clock,
    log: logger,
  })
  const authorizer = aclAuthorizer({
    settings: config.acl,
    reader: machine.reader(),
    freshen: () => consensus.readBarrier('leader', clock.monotonicMs() + tokenWaitMs, unending),
    clock,
    log: logger.named('acl'),
  })
  const audit = await AuditLog.open({
    server: config.name,
    settings: config.audit,
    bearers: serverBearers((token) => authorizer.accessorOf(token), hasher),
    clock,
    log: logger.named('audit'),
  })
  opened.defer(() => audit.stop())

  const httpSettings = httpSettingsOf(config)
  const outgoing = new Outgoing({ ...defaultHttpLimits, ...httpSettings.limits })
  const prefix = randomBytes(9).toString('base64url')
  const sent = new SentWrites({ applied: machine, clock, prefix })
  opened.defer(() => sent.stop())
  const dispatcher = new ServerDispatcher({
    methods: [...composed.methods, ...serverMethods],
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
    crowded: boundHeapGrowth,
    audit: telemetry.callEnded,
  })
  onStream = dispatcher.handleStream
  onCall = dispatcher.handleForwarded

  opened.defer(() => composed.stop())
  await composed.start()
  opened.defer(machine.onReplaced(() => services.get(localServices).compare()))
  const leadership = new Leadership({
    node,
    onReplaced: (listener) => machine.onReplaced(listener),
    logger,
    duties: composed.duties.map((duty) => ({
      name: duty.name,
      start: () => duty.start({ clock, log: logger, view, service: services.get, propose }),
    })),
  })
  opened.defer(() => leadership.stop())
  const stopCatchingUp = new AbortController()
  const catchingUp = dispatcher.catchUp(stopCatchingUp.signal)
  opened.defer(async () => {
    stopCatchingUp.abort()
    await catchingUp
  })
  opened.defer(() => membership.stop())
  if (!dependencies.origin.dev) membership.start()
  pool?.search(() => membership.gossipOfMembers())

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
  })
  const gossip = pool?.gossip ?? null
  telemetry.start({ stack, dispatcher, sent, http, audit, ...measuredParts(services), gossip })
  // Before the API and after it: whoever asks is told that this server starts or stops.
  const ops = new OpsServer({
    healthy: () => serving && stack.listening() && stack.storing() && disk.healthy,
    metrics: () => telemetry.text(),
  })
  opened.defer(() => ops.stop())
  const opsListeners = await listeners.open('ops', ops)
  opened.defer(() => http.stop(drainMs))
  const apis = await listeners.open('api', http)
  // With all its ports: where one is taken it starts again at others, and has begun no cluster at the first.
  if (dependencies.origin.dev) await membership.begin()
  pool?.serves(reachableApi(apis, config.advertiseAddr))

  opened.defer(async () => {
    serving = false
    await handOver(node, clock, logger)
    if (pool === null || !config.leaveOnTerminate) return
    await membership.leave()
    await pool.leave()
  })

  const owned = opened.move()
  assert(!owned.disposed, 'what was opened is owned by the running server')
  serving = true
  return {
    addresses: {
      http: apis.map(({ address }) => address).join(','),
      rpc: advertised,
      gossip: pool?.endpoint ?? 'none',
      ops: opsListeners.map(({ address }) => address).join(','),
    },
    announceStop: () => {
      serving = false
    },
    reload: (readConfig) =>
      reloadAll([
        () => listeners.reload(),
        () => tls?.certificate.reload(),
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

/** Of the domains, what the metrics tell of. */
function measuredParts({ get }: Services) {
  return {
    events: get(eventBuffer),
    monitors: get(monitors),
    snapshots: get(scheduledSnapshots),
  }
}

function starting(): MusterError {
  return new MusterError('unavailable', 'this server is starting')
}
