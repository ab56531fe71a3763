/**
 * Builds what agrees: state, log, wire, transport and the Raft node, in order; taken down in reverse.
 */
import { mkdir } from 'node:fs/promises'
import { uptime } from 'node:os'
import { join } from 'node:path'
import type { Domain } from '../fsm/domain.ts'
import { openMachine, type Machine } from '../fsm/machine.ts'
import { storeLimits } from '../fsm/store.ts'
import type { Clock } from '../lib/clock.ts'
import { DiskGate } from '../lib/disk-gate.ts'
import type { Logger } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import { RaftNode } from '../raft/node.ts'
import type { Configuration } from '../raft/core/message.ts'
import {
  configurationAfter,
  decodeConfiguration,
  type Raft,
  type RaftLimits,
  type RaftTiming,
} from '../raft/raft.ts'
import { openDurableLog, type DurableLogStore } from '../raft/storage/durable-log.ts'
import type { LogMark, LogStore, RecoveredLog } from '../raft/storage/log-store.ts'
import { systemDisk } from '../raft/storage/system-disk.ts'
import { GrpcRaftTransport } from '../raft/transport/grpc.ts'
import type { Peer, RaftTransport } from '../raft/transport/transport.ts'
import { CallService, GrpcPeerLink } from '../rpc/grpc.ts'
import { StreamService } from '../rpc/link-stream-server.ts'
import type { CallHandler, PeerLink, StreamHandler, StreamLink } from '../rpc/link.ts'
import { WireServer } from '../wire/server.ts'
import type { WireTls } from '../wire/tls.ts'
import { Wire } from '../wire/wire.ts'
import type { AddressOf } from './consensus.ts'
import { measuredLog, measuredMachine, type Observer } from './measured.ts'
import { requestStateBy } from './state-transfer.ts'

export type ConsensusStackOptions = {
  readonly id: string
  readonly dataFolder: string
  readonly bindAddress: string
  readonly rpcPort: number
  readonly timing: RaftTiming
  readonly limits: RaftLimits
  readonly leaseReads: boolean
  /** In bytes. */
  readonly caches: { readonly rowCacheBytes: number; readonly blockCacheBytes: number }
  readonly logMark: LogMark
  readonly domains: readonly Domain[]
  readonly addressOf: AddressOf
  /** Null: servers speak plain TCP with one another. */
  readonly tls: WireTls | null
  /** Calls of other servers. */
  readonly onCall: CallHandler
  readonly onStream: StreamHandler
  /** Told how long each write to the log and each batch of the state took. */
  readonly times: { readonly append: Observer; readonly apply: Observer }
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly onFatal: (error: unknown) => void
}

export type ConsensusStack = {
  readonly machine: Machine
  readonly node: Raft
  readonly link: PeerLink & StreamLink
  readonly wire: Wire
  readonly rpcPort: number
  /** Where the log's files are. */
  readonly logFolder: string
  logStats(): ReturnType<LogStore['stats']>
  /** False while log or state wait for a disk that is full or read-only, or the log's folder is gone. */
  storing(): boolean
  /** False: the file that the log writes to was deleted. Never rejects. */
  hasLogFile(): Promise<boolean>
  /** The log is gone from its folder, or came back: this server does not lead without, nor acknowledge anything. */
  folderGone(gone: boolean): void
  /** Whether other servers can connect. */
  listening(): boolean
  /** Members may be reached elsewhere now: asks `addressOf` again. */
  redial(): void
  /** The connection to this member closed and a new one was refused; none was made since. */
  isGone(id: string): boolean
  stop(): Promise<void>
}

/** Resolves once this server can be reached by the others and takes part. What was opened before a failure is closed. */
export async function startConsensus(options: ConsensusStackOptions): Promise<ConsensusStack> {
  const { id, dataFolder, clock, random, logger, onFatal } = options
  await using opened = new AsyncDisposableStack()

  const gate = new DiskGate({ clock, logger: logger.named('disk') })
  const logFolder = join(dataFolder, 'raft')
  await mkdir(logFolder, { recursive: true, mode: 0o700 })
  const { log, recovered, machine } = await openSideBySide({ ...options, logFolder, gate, opened })
  const stored = configurationOf(recovered)
  // Before both: what waits for the disk would hold up their end.
  opened.defer(() => gate.close())

  let node: Raft | null = null
  const wire = new Wire({
    identity: () => ({
      serverId: id,
      clusterId: node?.clusterId() || stored.clusterId,
      predecessors: node?.predecessors() ?? stored.succession?.predecessors ?? [],
    }),
    tls: options.tls,
    clock,
    random,
    logger: logger.named('wire'),
  })
  const transport = new GrpcRaftTransport({ wire })
  const calls = new CallService({ wire, handler: options.onCall })
  const streams = new StreamService({ wire, handler: options.onStream })
  const server = new WireServer({
    wire,
    bindAddress: options.bindAddress,
    port: options.rpcPort,
    services: [...transport.services, calls, streams],
  })
  const rpcPort = await server.listen()
  opened.defer(() => server.stop())

  const link = new GrpcPeerLink({ wire })
  opened.defer(() => link.stop())

  const dialed = dialing({ transport, link, addressOf: options.addressOf })
  const raft = new RaftNode({
    id,
    timing: options.timing,
    limits: options.limits,
    leaseReads: options.leaseReads,
    log: measuredLog(log, clock, options.times.append),
    recovered,
    gate,
    machine: measuredMachine(machine, clock, options.times.apply),
    transport: dialed,
    clock,
    bootMs: () => uptime() * 1_000,
    random,
    requestState: requestStateBy({ id, link, addressOf: options.addressOf }),
    defer: setImmediate,
    logger: logger.named('raft'),
    onFatal,
  })
  node = raft
  let [knownTerm, knownLeader]: [number, string | null] = [0, null]
  raft.onChange(({ term, leaderId }) => {
    const isNews =
      leaderId === null ? term > knownTerm : term > knownTerm || leaderId !== knownLeader
    ;[knownTerm, knownLeader] = [term, leaderId]
    if (isNews) link.leaderIs(leaderId)
  })
  opened.defer(() => raft.stop())
  await raft.start()

  const owned = opened.move()
  return {
    machine,
    node: raft,
    link,
    wire,
    rpcPort,
    logFolder,
    logStats: () => log.stats(),
    storing: () => !gate.refusing,
    hasLogFile: () => log.hasFile(),
    folderGone: (gone) => (gone ? gate.hold('folder') : gate.release('folder')),
    listening: () => server.listening,
    redial: () => dialed.redial(),
    isGone: (id) => dialed.isGone(id),
    stop: () => owned.disposeAsync(),
  }
}

type Opened = {
  readonly log: DurableLogStore
  readonly recovered: RecoveredLog
  readonly machine: Machine
}

/** Log and state, which both take their time after a crash; `opened` owns them then, the machine to be closed first. */
async function openSideBySide(
  options: ConsensusStackOptions & {
    readonly logFolder: string
    readonly gate: DiskGate
    readonly opened: AsyncDisposableStack
  },
): Promise<Opened> {
  const { id, dataFolder, domains, clock, gate, logger, opened, caches } = options
  const opening = systemDisk(options.logFolder).then((disk) =>
    openDurableLog(disk, { gate, mark: options.logMark }),
  )
  const openingState = openMachine({
    folder: join(dataFolder, 'state'),
    domains,
    decodeConfiguration,
    storeLimits: { ...storeLimits, blockCacheBytes: caches.blockCacheBytes },
    rowCacheBytes: caches.rowCacheBytes,
    clock,
    gate,
    logger: logger.named('state'),
    /** Damaged state may go: the log holds all of it, or another server does. */
    onDamage: async () => {
      const { recovered } = await opening
      const isWhole = recovered.snapshot.index === 0 && recovered.lastIndex > 0
      const { members } = configurationOf(recovered)
      return isWhole || members.some((member) => member.id !== id) ? 'setAside' : 'refuse'
    },
  })
  const [log, state] = await Promise.allSettled([opening, openingState])
  if (log.status === 'fulfilled') opened.defer(() => log.value.store.close())
  if (state.status === 'fulfilled') opened.defer(() => state.value.close())
  if (log.status === 'rejected') throw log.reason
  if (state.status === 'rejected') throw state.reason
  return { log: log.value.store, recovered: log.value.recovered, machine: state.value }
}

function configurationOf({ snapshot, configurations }: RecoveredLog): Configuration {
  return configurationAfter(snapshot, configurations)
}

type Dialing = {
  readonly transport: GrpcRaftTransport
  readonly link: GrpcPeerLink
  readonly addressOf: AddressOf
}

/**
 * The transport, with peers dialed where the configuration file or gossip says, if they name them. A peer that is reached
 * gets a call link as well: any of them may be the next leader, and requests would wait for the connection to it.
 */
function dialing({
  transport,
  link,
  addressOf,
}: Dialing): RaftTransport & { redial(): void; isGone(id: string): boolean } {
  let known: readonly Peer[] = []
  /** Their connection closed and a new one was refused; none was made since. */
  const gone = new Set<string>()
  const reached = new Set<string>()
  const peers = () => known.map((peer) => ({ ...peer, address: addressOf(peer) }))
  const keepLinks = () => link.keepOpen(peers().filter(({ id }) => reached.has(id)))
  const dial = () => {
    transport.setPeers(peers())
    keepLinks()
  }
  return {
    start: (handlers) =>
      transport.start({
        ...handlers,
        onPeerGone: (id) => {
          gone.add(id)
          reached.delete(id)
          handlers.onPeerGone(id)
        },
        onPeerConnected: (id) => {
          gone.delete(id)
          reached.add(id)
          handlers.onPeerConnected(id)
          keepLinks()
        },
      }),
    setPeers: (next) => {
      known = next
      for (const id of gone) if (!next.some((peer) => peer.id === id)) gone.delete(id)
      dial()
    },
    isGone: (id) => gone.has(id),
    redial: () => {
      if (known.length > 0) dial()
    },
    send: (message) => transport.send(message),
    sendSnapshot: (to, term, source, signal) => transport.sendSnapshot(to, term, source, signal),
    stop: () => transport.stop(),
  }
}
