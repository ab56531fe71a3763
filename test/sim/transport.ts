/**
 * One life's transport: the fake of `src/raft/transport/grpc.ts` on the simulated network.
 * Snapshots travel chunk by chunk, break off, and go on where the receiver stopped.
 */
import { createHash } from 'node:crypto'
import { MusterError } from '../../src/lib/errors.ts'
import type { Random } from '../../src/lib/random.ts'
import type { Message, ServerId, Term } from '../../src/raft/core/message.ts'
import type {
  Peer,
  RaftTransport,
  SnapshotSink,
  SnapshotSource,
  TransportHandlers,
} from '../../src/raft/transport/transport.ts'
import { between, happens } from './randomness.ts'
import { Interrupted, interrupted, type Endpoint, type Network } from './network.ts'
import type { Life, Scheduler } from './scheduler.ts'

/** Without progress for this long a snapshot is given up. */
const stalledMaxMs = 1_500

type Reception = {
  readonly from: ServerId
  readonly sink: SnapshotSink
  /** A later offer took its place. */
  voided: boolean
}

export class SimTransport implements RaftTransport, Endpoint {
  readonly life: Life
  readonly #id: ServerId
  readonly #scheduler: Scheduler
  readonly #network: Network
  readonly #random: Random
  /** Share of chunks at which the connection breaks. */
  readonly #breakRate: number
  #handlers: TransportHandlers | null = null
  #reception: Reception | null = null
  #line: Promise<unknown> = Promise.resolve()

  constructor(options: {
    readonly id: ServerId
    readonly life: Life
    readonly scheduler: Scheduler
    readonly network: Network
    readonly random: Random
    readonly breakRate: number
  }) {
    this.#id = options.id
    this.life = options.life
    this.#scheduler = options.scheduler
    this.#network = options.network
    this.#random = options.random
    this.#breakRate = options.breakRate
  }

  start(handlers: TransportHandlers): Promise<void> {
    this.#handlers = handlers
    this.#network.attach(this.#id, this)
    return Promise.resolve()
  }

  setPeers(_peers: readonly Peer[]): void {
    // Everyone is within reach: who may speak to whom is the business of the real transport.
  }

  send(message: Message): void {
    if (this.life.alive && this.#handlers !== null) this.#network.send(message)
  }

  stop(): Promise<void> {
    if (this.#handlers !== null && this.#network.endpoint(this.#id) === this) {
      this.#network.detach(this.#id)
    }
    this.#handlers = null
    return Promise.resolve()
  }

  // --- the other end of the network ---

  readonly deliver = (message: Message): void => this.#handlers?.onMessage(message)
  readonly peerGone = (id: ServerId): void => this.#handlers?.onPeerGone(id)
  readonly peerConnected = (id: ServerId): void => this.#handlers?.onPeerConnected(id)

  // --- snapshots, sending ---

  async sendSnapshot(
    to: ServerId,
    term: Term,
    source: SnapshotSource,
    signal: AbortSignal,
  ): Promise<void> {
    const hash = createHash('sha256')
    for await (const chunk of source.chunks(0)) hash.update(chunk)
    const digest = hash.digest('hex')
    let progressMs = this.#scheduler.nowMs
    while (this.#scheduler.nowMs - progressMs < stalledMaxMs) {
      try {
        await this.#stream(to, term, source, digest, signal, () => {
          progressMs = this.#scheduler.nowMs
        })
        return
      } catch (error) {
        if (!(error instanceof Interrupted)) throw error
      }
      await this.#scheduler.sleep(between(this.#random, 10, 60), this.life)
    }
    throw new MusterError('timeout', 'the receiver made no progress')
  }

  async #stream(
    to: ServerId,
    term: Term,
    source: SnapshotSource,
    digest: string,
    signal: AbortSignal,
    progressed: () => void,
  ): Promise<void> {
    const { id, meta } = source
    const self = { id: this.#id, life: this.life }
    const ask = async <T>(question: (receiver: SimTransport) => Promise<T>): Promise<T> => {
      if (signal.aborted || this.#handlers === null) {
        throw new MusterError('cancelled', 'the snapshot is not wanted any more')
      }
      return this.#network.ask(self, to, (endpoint) => {
        if (!(endpoint instanceof SimTransport)) throw interrupted()
        return endpoint.#inLine(() => question(endpoint))
      })
    }
    const reception = await ask((receiver) => receiver.#offer(this.#id, term, id, meta))
    for await (const chunk of source.chunks(reception.sink.received)) {
      if (happens(this.#random, this.#breakRate)) throw interrupted()
      await ask((receiver) => receiver.#write(reception, chunk))
      progressed()
    }
    await ask((receiver) => receiver.#finish(reception, digest, term, meta))
  }

  // --- snapshots, receiving ---

  /** One step at a time, whoever asks for it. */
  #inLine<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#line.then(step)
    this.#line = result.catch(() => undefined)
    return result
  }

  async #offer(
    from: ServerId,
    term: Term,
    id: string,
    meta: SnapshotSource['meta'],
  ): Promise<Reception> {
    if (this.#handlers === null) throw interrupted()
    const sink = await this.#handlers.onSnapshotOffer({ from, term, id, meta })
    if (this.#reception !== null) this.#reception.voided = true
    this.#reception = { from, sink, voided: false }
    return this.#reception
  }

  async #write(reception: Reception, chunk: Uint8Array): Promise<void> {
    if (reception !== this.#reception || reception.voided) throw interrupted()
    // What could not be written is no refusal: the sender comes again.
    await reception.sink.write(chunk).catch(() => Promise.reject(interrupted()))
  }

  async #finish(
    reception: Reception,
    digest: string,
    term: Term,
    meta: SnapshotSource['meta'],
  ): Promise<void> {
    if (reception !== this.#reception || reception.voided) throw interrupted()
    await reception.sink.finish(digest)
    this.#handlers?.onSnapshotReceived({ from: reception.from, term, meta })
  }
}
