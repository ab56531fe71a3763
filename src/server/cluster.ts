/**
 * This server as a part of its cluster: the state and the log it agrees on, the pool in which it finds the others, and its
 * membership. It knows of domains that they have tables and commands, and answers no client.
 */
import { autopilotOf } from '../domains/autopilot/queries.ts'
import { domains } from '../domains/registry.ts'
import { raiseVersion } from '../fsm/cluster-version.ts'
import { commandVersion } from '../fsm/codec.ts'
import type { Command } from '../fsm/domain.ts'
import { MusterError } from '../lib/errors.ts'
import { hostPort } from '../lib/host-port.ts'
import type { CallHandler, StreamHandler } from '../rpc/link.ts'
import { typedPropose, Writer, type Propose } from '../rpc/write.ts'
import { loadIdentity, writeIdentity } from '../runtime/identity.ts'
import type { RuntimeDependencies } from '../runtime/process.ts'
import type { WireTls } from '../wire/tls.ts'
import { Autopilot } from './autopilot.ts'
import { RaftConsensus, type AddressOf } from './consensus.ts'
import { startConsensus, type ConsensusStack } from './consensus-stack.ts'
import { DiskProbe } from './disk-probe.ts'
import { handOver } from './handover.ts'
import { gossipPeers } from './gossip-peers.ts'
import { ServerMembership } from './membership.ts'
import { listedPeers, staticPeers, type PeerSource } from './peer-source.ts'
import { ProvenAddresses } from './proven-addresses.ts'
import type { ServerConfig } from './server-config.ts'
import type { ServerPool } from './server-pool.ts'
import { startPool } from './start-pool.ts'

export type Cluster = {
  /** Of this server. */
  readonly id: string
  /** host:port of the RPC listener, as others reach it. */
  readonly rpcAddress: string
  readonly stack: ConsensusStack
  readonly disk: DiskProbe
  /** Null: this server takes part in no gossip. */
  readonly pool: ServerPool | null
  readonly consensus: RaftConsensus
  readonly membership: ServerMembership
  readonly autopilot: Autopilot
  readonly addressOf: AddressOf
  /** `Machine.encodeCommand` */
  readonly encode: (command: Command, name: string | null) => Uint8Array
  /** Of what this server does by itself. */
  readonly propose: Propose
  /** The command version that the cluster runs at. */
  readonly commandVersion: () => number
}

/** What other servers ask. They may call before there is anything to answer with, and are told to come again. */
export type Answering = { call: CallHandler; stream: StreamHandler }

export type ClusterOptions = {
  readonly config: ServerConfig
  readonly dependencies: RuntimeDependencies
  readonly tls: WireTls | null
  readonly times: Parameters<typeof startConsensus>[0]['times']
  readonly answering: Answering
  readonly onFatal: (error: unknown) => void
  /** Owns what is opened. */
  readonly opened: AsyncDisposableStack
}

/** A command of a duty that is not confirmed by then is tried again in the duty's next round. */
const dutyWriteMs = 10_000

export function notYet(): Answering {
  const starting = () => Promise.reject(new MusterError('unavailable', 'this server is starting'))
  return { call: starting, stream: starting }
}

/** Resolves once other servers can reach this one. Membership does not look around yet. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { config, dependencies, opened, answering } = options
  const { logger, clock, random } = dependencies
  const { id, hasLog } = await loadIdentity(config.dataDir, 'server')
  const { raft, bootstrapExpect } = config.server
  const listed = config.server.peers.map(({ name, host, port }) => ({
    name,
    address: hostPort(host, port),
  }))
  let source: PeerSource = staticPeers(listed)
  const addressOf: AddressOf = (member) => source.addressOf(member) ?? member.address

  const stack = await startConsensus({
    id,
    dataFolder: config.dataDir,
    bindAddress: config.bindAddr,
    rpcPort: config.ports.rpc,
    timing: raft,
    limits: raft,
    leaseReads: raft.leaseReads,
    caches: config.server.memory,
    logMark: {
      isSet: hasLog,
      set: () => writeIdentity(config.dataDir, 'server', { id, hasLog: true }),
    },
    domains,
    addressOf,
    tls: options.tls,
    onCall: (request, signal) => answering.call(request, signal),
    onStream: (request, signal) => answering.stream(request, signal),
    times: options.times,
    clock,
    random,
    logger,
    onFatal: options.onFatal,
  })
  opened.defer(() => stack.stop())
  const { node, machine, link } = stack
  const disk = new DiskProbe({
    folder: stack.logFolder,
    clock,
    logger: logger.named('disk'),
    hasFile: () => stack.hasLogFile(),
    onGone: (gone) => stack.folderGone(gone),
  })
  opened.defer(() => disk.stop())
  await disk.start()

  let proven: ProvenAddresses | null = null
  const pool = await startPool(config, dependencies, { stack, id, onMoved: () => proven?.look() })
  if (pool !== null) {
    opened.defer(() => pool.stop())
    opened.defer(pool.follow(node))
    proven = new ProvenAddresses({
      members: () => node.status().configuration.members.filter((member) => member.id !== id),
      claimed: (serverId) => pool.peers.claimedAddress(serverId),
      answers: (address, serverId) => membership.answersAt(address, serverId),
      onMoved: () => stack.redial(),
      clock,
    })
    const looking = proven
    opened.defer(() => looking.stop())
    source = listed.length === 0 ? gossipPeers(pool.peers, looking) : listedPeers(source)
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
    heartbeatMs: raft.heartbeatMs,
    clock,
  })
  const consensus = new RaftConsensus(node, addressOf, clock)
  const encode: Cluster['encode'] = (command, name) => machine.encodeCommand(command, name)
  const writer = new Writer({ consensus, encode, clock })
  const propose = typedPropose((command) =>
    writer.propose(command, { deadlineMs: clock.monotonicMs() + dutyWriteMs }),
  )
  const clusterVersion = () => machine.commandVersion
  const rpcAddress = hostPort(config.advertiseAddr, stack.rpcPort)
  const membership = new ServerMembership({
    autopilot,
    self: { id, name: config.name, address: rpcAddress },
    region: config.region,
    source,
    gossip: () => pool?.endpoint ?? null,
    bootstrapExpect,
    node,
    link,
    logger: logger.named('membership'),
    clock,
    deadAfterMs: 2 * raft.electionMs,
    handOver: () => handOver(node, clock, logger),
    versions: {
      own: commandVersion,
      cluster: clusterVersion,
      raise: async (version) => {
        await propose(raiseVersion, { version })
      },
    },
  })
  return {
    id,
    rpcAddress,
    stack,
    disk,
    pool,
    consensus,
    membership,
    autopilot,
    addressOf,
    encode,
    propose,
    commandVersion: clusterVersion,
  }
}
