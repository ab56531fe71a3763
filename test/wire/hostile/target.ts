/** A server with everything that listens on the RPC port, a core of Raft behind it, and what must be true of it afterwards. */
import type { Test } from 'tap'
import { MusterError } from '../../../src/lib/errors.ts'
import { silentLogger, type Logger } from '../../../src/lib/log.ts'
import { seededRandom } from '../../../src/lib/random.ts'
import { RaftCore } from '../../../src/raft/core/core.ts'
import type { Configuration, Message } from '../../../src/raft/core/message.ts'
import { GrpcRaftTransport } from '../../../src/raft/transport/grpc.ts'
import { CallService, GrpcPeerLink } from '../../../src/rpc/grpc.ts'
import type { CallHandler, StreamHandler } from '../../../src/rpc/link.ts'
import { StreamService } from '../../../src/rpc/link-stream-server.ts'
import type { ConnectionLimits } from '../../../src/wire/connections.ts'
import { WireServer } from '../../../src/wire/server.ts'
import { Wire } from '../../../src/wire/wire.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { heapBytes } from '../../support/heap.ts'

export const paths = {
  raft: '/muster.raft.Raft/Stream',
  snapshot: '/muster.raft.Raft/Snapshot',
  calls: '/muster.server.Server/Calls',
  stream: '/muster.server.Server/Stream',
} as const

const mebibyte = 1024 * 1024
export const limits = {
  strangersMax: 40,
  unreadBytesMax: 24 * mebibyte,
  argumentBytesMax: 16 * mebibyte,
  resultBytesMax: 16 * mebibyte,
} as const
/** What the attackers of this process leave in it themselves, and what V8 keeps for later. */
const slackBytes = 48 * mebibyte

const results = new Map<string, () => unknown>([['large', () => Buffer.alloc(mebibyte)]])

const onCall: CallHandler = async ({ method, args }, signal) => {
  if (method === 'throw') throw new Error('it fails')
  if (method === 'park') {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    throw new MusterError('cancelled', 'the caller went away')
  }
  return results.get(method)?.() ?? args
}

const onStream: StreamHandler = async ({ method }) => {
  if (method === 'refuse') throw new MusterError('not_found', 'there is none')
  return endless()
}

async function* endless(): AsyncGenerator {
  for (;;) yield Buffer.alloc(10_000)
}

/** As the driver runs it, with a disk that is always quick. */
class Seat {
  readonly core: RaftCore
  readonly #transport: GrpcRaftTransport
  /** What would have ended the process. */
  readonly fatal: unknown[] = []
  /** What it took a leader to win. */
  #aheadMs = 0

  constructor(transport: GrpcRaftTransport, leads: boolean) {
    this.#transport = transport
    const configuration: Configuration = {
      clusterId: 'c1',
      members: ['a', 'b', 'c'].map((id) => ({
        id,
        name: id,
        address: `${id}:1`,
        role: leads && id !== 'b' ? 'learner' : 'voter',
      })),
    }
    const options = {
      electionMs: 1_000,
      adaptive: null,
      heartbeatMs: 100,
      leaseReads: false,
      appendBytesMax: mebibyte,
      inflightMessagesMax: 8,
      inflightBytesMax: mebibyte,
      uncommittedBytesMax: mebibyte,
      cacheBytesMax: mebibyte,
      random: seededRandom(1),
    }
    const start = {
      base: { index: 0, term: 0 },
      lastIndex: 0,
      termRuns: [],
      tail: [],
      hardState: { term: 1, votedFor: null, commitIndex: 0 },
      appliedIndex: 0,
      configuration,
      configurationIndex: 0,
      configurations: [],
    }
    this.core = new RaftCore('b', options, start, performance.now())
    if (!leads) return
    this.#aheadMs = 10_000
    this.core.tick(this.#now(), false)
    this.#turn()
  }

  #now(): number {
    return performance.now() + this.#aheadMs
  }

  receive(message: Message): void {
    try {
      this.core.message(message, this.#now())
      this.#turn()
    } catch (error) {
      if (error instanceof MusterError) throw error
      this.fatal.push(error)
    }
  }

  #turn(): void {
    for (;;) {
      const ready = this.core.takeReady(this.#now())
      for (const message of ready.send) this.#transport.send(message)
      if (ready.persist === null) return
      for (const message of ready.persist.afterwards) this.#transport.send(message)
      this.core.persisted(ready.persist.sequence, this.#now())
    }
  }
}

export class Target {
  readonly server: WireServer
  readonly calls: CallService
  readonly seat: Seat
  readonly errors: string[] = []
  port = 0
  readonly #link: GrpcPeerLink
  readonly #transport: GrpcRaftTransport
  #quietBytes = 0

  constructor(leads: boolean, changed: Partial<ConnectionLimits> = {}) {
    const logger: Logger = { ...silentLogger, error: (text) => this.errors.push(text) }
    const wire = new Wire({ identity: () => ({ clusterId: 'c1', serverId: 'b' }), logger })
    this.#transport = new GrpcRaftTransport({ wire })
    this.seat = new Seat(this.#transport, leads)
    this.calls = new CallService({ wire, handler: onCall, limits })
    const streams = new StreamService({ wire, handler: onStream })
    const { services } = this.#transport
    this.server = new WireServer({
      wire,
      bindAddress: '127.0.0.1',
      port: 0,
      services: [...services, this.calls, streams],
      limits: { ...limits, ...changed },
    })
    const good = new Wire({ identity: () => ({ clusterId: 'c1', serverId: 'a' }) })
    this.#link = new GrpcPeerLink({ wire: good })
  }

  async start(t: Test): Promise<this> {
    t.teardown(() => this.stop())
    await this.#transport.start({
      onMessage: (message) => this.seat.receive(message),
      onPeerGone: () => {},
      onPeerConnected: () => {},
      onSnapshotOffer: () =>
        Promise.resolve({
          received: 0,
          write: () => Promise.resolve(),
          finish: () => Promise.reject(new MusterError('corrupt', 'it is not what was offered')),
        }),
      onSnapshotReceived: () => {},
    })
    this.port = await this.server.listen()
    await this.answers()
    this.#quietBytes = heapBytes()
    return this
  }

  /** A call of a server that keeps the rules gets through, on a connection that was there and on a new one. */
  async answers(): Promise<void> {
    const address = `127.0.0.1:${this.port}`
    const request = { token: null, remote: '', requestId: 'good', timeoutMs: 20_000 }
    for (const id of ['b', null]) {
      await eventuallyTrue('a good call is answered', async () => {
        const answer = await this.#link.call({ address, id }, { ...request, method: 'm', args: 7 })
        return answer === 7
      })
    }
  }

  /** All is as before it was attacked. The links of `answers` stay. */
  async isWell(t: Test, after: string): Promise<void> {
    await this.answers()
    await eventuallyTrue(`after ${after} only the good connections are left`, () => {
      const { connections, strangers, streams } = this.server.open
      return connections <= 2 && strangers === 0 && streams <= 2
    })
    const { load } = this.calls
    t.same([load.argumentBytes, load.resultBytes], [0, 0], `${after}: nothing is under way`)
    await eventuallyTrue(
      `after ${after} memory is as before`,
      () => heapBytes() - this.#quietBytes < slackBytes,
    )
    t.same(this.seat.fatal, [], `${after}: consensus goes on`)
  }

  async stop(): Promise<void> {
    await this.#link.stop()
    await this.#transport.stop()
    await this.calls.stop()
    await this.server.stop()
  }
}
