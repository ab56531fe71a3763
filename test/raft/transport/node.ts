/**
 * One server's wire, gRPC server and Raft transport on loopback, and what its driver would have seen.
 */
import type { Test } from 'tap'
import type { Clock } from '../../../src/lib/clock.ts'
import type { Message } from '../../../src/raft/core/message.ts'
import {
  GrpcRaftTransport,
  type GrpcRaftTransportOptions,
} from '../../../src/raft/transport/grpc.ts'
import type { SnapshotSink, TransportHandlers } from '../../../src/raft/transport/transport.ts'
import type { VersionRange } from '../../../src/wire/handshake.ts'
import { WireServer } from '../../../src/wire/server.ts'
import { Wire } from '../../../src/wire/wire.ts'

export type NodeSpec = Omit<GrpcRaftTransportOptions, 'wire'> & {
  readonly id: string
  readonly clusterId?: string
  readonly versions?: VersionRange
  readonly port?: number
  readonly clock?: Clock
  readonly onSnapshotOffer?: TransportHandlers['onSnapshotOffer']
  /** It serves all but this one, as a server of an older version. */
  readonly withoutPath?: string
}

export class Node {
  readonly id: string
  readonly wire: Wire
  readonly transport: GrpcRaftTransport
  readonly server: WireServer
  readonly messages: Message[] = []
  readonly gone: string[] = []
  readonly connectedTo: string[] = []
  readonly snapshots: { from: string; term: number; index: number }[] = []
  readonly #spec: NodeSpec
  port = 0
  onMessage: (message: Message) => void = (message) => this.messages.push(message)

  constructor(spec: NodeSpec) {
    this.#spec = spec
    this.id = spec.id
    const { clusterId = 'c1', versions, clock } = spec
    this.wire = new Wire({
      identity: () => ({ clusterId, serverId: spec.id }),
      connectTimeoutMs: 500,
      ...(versions === undefined ? {} : { versions }),
      ...(clock === undefined ? {} : { clock }),
    })
    this.transport = new GrpcRaftTransport({ ...spec, wire: this.wire })
    const services = this.transport.services.filter(({ path }) => path !== spec.withoutPath)
    this.server = new WireServer({
      wire: this.wire,
      bindAddress: '127.0.0.1',
      port: spec.port ?? 0,
      services,
    })
  }

  async start(t: Test, handlers: TransportHandlers = this.#handlers()): Promise<this> {
    t.teardown(() => this.stop())
    await this.transport.start(handlers)
    this.port = await this.server.listen()
    return this
  }

  #handlers(): TransportHandlers {
    return {
      onMessage: (message) => this.onMessage(message),
      onPeerGone: (id) => this.gone.push(id),
      onPeerConnected: (id) => this.connectedTo.push(id),
      onSnapshotOffer: this.#spec.onSnapshotOffer ?? noSnapshots,
      onSnapshotReceived: ({ from, term, meta }) =>
        this.snapshots.push({ from, term, index: meta.index }),
    }
  }

  /** Dials these, under their ids or at another port in front of them. */
  peer(...peers: readonly { readonly id: string; readonly port: number }[]): void {
    this.transport.setPeers(
      peers.map(({ id, port }) => ({ id, name: id, address: `127.0.0.1:${port}` })),
    )
  }

  send(to: string, round: number, bytes = 0): void {
    const entries = [
      { index: 1, term: 1, kind: 'command' as const, data: Buffer.alloc(bytes, round) },
    ]
    const envelope = { from: this.id, to, term: 1, commitIndex: 0, round }
    if (bytes === 0) this.transport.send({ type: 'heartbeat', ...envelope })
    else
      this.transport.send({
        type: 'appendRequest',
        ...envelope,
        prevIndex: 0,
        prevTerm: 0,
        entries,
      })
  }

  async stop(): Promise<void> {
    await this.transport.stop()
    await this.server.stop()
  }
}

export function roundsOf(messages: readonly Message[]): number[] {
  return messages.map((message) => ('round' in message ? message.round : -1))
}

function noSnapshots(): Promise<SnapshotSink> {
  return Promise.reject(new Error('this test has no snapshots'))
}
