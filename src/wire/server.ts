/**
 * The one gRPC server of a process: listens, shakes hands, and gives each stream to the service it is for.
 * It owns the TCP sockets, so that `stop` ends in bounded time whatever the other sides do.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import {
  type ConnectionInjector,
  Server,
  ServerCredentials,
  status as grpcStatus,
} from '@grpc/grpc-js'
import type { ServerDuplexStream } from '@grpc/grpc-js'
import { MusterError, textOf } from '../lib/errors.ts'
import { Admission } from './admission.ts'
import { flowControlWindowBytes, serverOptions } from './channel-options.ts'
import { connectionLimits, type ConnectionLimits, InboundConnections } from './connections.ts'
import { acceptHello, encodeHello, type RemotePeer } from './handshake.ts'
import { WireStream } from './stream.ts'
import type { Wire } from './wire.ts'

export type WireService = {
  /** '/muster.raft.Raft/Stream' */
  readonly path: string
  /**
   * Gets every stream of this path once the handshake is through and calls `start` on it,
   * or throws a MusterError that tells the caller why not.
   */
  accept(stream: WireStream): void
}

export type WireServerOptions = {
  readonly wire: Wire
  readonly bindAddress: string
  /** 0: any free one. */
  readonly port: number
  readonly services: readonly WireService[]
  readonly limits?: Partial<ConnectionLimits>
}

/** The headers are those that gRPC will see. */
type Http2StreamCreated = {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
}

type Inbound = ServerDuplexStream<Buffer, Buffer>

/** How long streams may take to end on `stop`. */
const stopGraceMs = 200

const passBytes = (bytes: Buffer): Buffer => bytes

export class WireServer {
  readonly #options: WireServerOptions
  readonly #wire: Wire
  readonly #grpc = new Server(serverOptions)
  readonly #listener: NetServer
  readonly #admission: Admission
  readonly #connections: InboundConnections
  readonly #streams = new Set<WireStream>()
  #injector: ConnectionInjector | null = null

  constructor(options: WireServerOptions) {
    this.#options = options
    this.#wire = options.wire
    const limits = { ...connectionLimits, ...options.limits }
    this.#connections = new InboundConnections(options.wire.clock, limits)
    this.#admission = new Admission(options.wire, (socket, refusal) => this.#admit(socket, refusal))
    for (const service of options.services) this.#register(service)
    this.#listener = createServer({ noDelay: true, keepAlive: true }, (socket) =>
      this.#onConnection(socket),
    )
    this.#listener.maxConnections = limits.connectionsMax
  }

  /** Resolves to the port. Rejects with `unavailable` when it cannot be had. */
  listen(): Promise<number> {
    const { bindAddress, port } = this.#options
    return new Promise((resolve, reject) => {
      this.#listener.once('error', (error) => {
        const text = `cannot listen on ${bindAddress}:${port} for RPC: ${textOf(error)}; ports.rpc names another port`
        reject(new MusterError('unavailable', text, { cause: error }))
      })
      this.#listener.listen({ host: bindAddress, port, exclusive: true }, () => {
        this.#injector = this.#grpc.createConnectionInjector(ServerCredentials.createInsecure())
        subscribe('http2.server.stream.created', this.#onHttp2Stream)
        this.#listener.removeAllListeners('error')
        // Without descriptors to spare `accept` fails; connections that exist go on.
        this.#listener.on('error', (error) =>
          this.#wire.logger.error('cannot accept a connection', { reason: textOf(error) }),
        )
        const address = this.#listener.address()
        resolve(address !== null && typeof address === 'object' ? address.port : port)
      })
    })
  }

  /** Whether others can connect. */
  get listening(): boolean {
    return this.#listener.listening
  }

  /** Inbound connections, those without a stream that passed the handshake, and streams that did. */
  get open(): {
    readonly connections: number
    readonly strangers: number
    readonly streams: number
  } {
    const { size, strangers } = this.#connections
    return { connections: size, strangers, streams: this.#streams.size }
  }

  /** Stops listening at once, ends every stream, and closes every connection. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      if (this.#listener.listening) this.#listener.close(() => resolve())
      else resolve()
    })
    unsubscribe('http2.server.stream.created', this.#onHttp2Stream)
    for (const stream of this.#streams) stream.finish('this server stops')
    await this.#connections.drained(stopGraceMs)
    this.#injector?.destroy()
    this.#grpc.forceShutdown()
    this.#connections.destroyAll()
    await closed
  }

  #register(service: WireService): void {
    const { path } = service
    const definition = {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: passBytes,
      requestDeserialize: passBytes,
      responseSerialize: passBytes,
      responseDeserialize: passBytes,
    }
    this.#grpc.addService(
      { stream: definition },
      { stream: (call: Inbound) => this.#onStream(service, call) },
    )
  }

  #onConnection(socket: Socket): void {
    const key = keyOf(socket)
    // Bytes that are not HTTP/2, resets: the connection ends, nothing else happens.
    socket.on('error', (error) =>
      this.#wire.logger.debug('inbound connection failed', { peer: key, reason: textOf(error) }),
    )
    this.#connections.add(key, socket)
    this.#admission.take(socket)
  }

  /** gRPC sees plain connections only: TLS was taken off before. */
  #admit(socket: Socket, refusal: string | null): void {
    const connection = this.#connections.get(keyOf(socket))
    if (connection === undefined || this.#injector === null) {
      socket.destroy()
      return
    }
    connection.refusal = refusal
    this.#injector.injectConnection(socket)
  }

  /**
   * gRPC sets the receive window of clients only. A server's stays at HTTP/2's 64 KiB, all that a round trip can
   * carry, so it is widened when the first stream of a connection appears. No client of ours compresses, and the server
   * decompresses nothing: a kilobyte on the way could be a megabyte.
   */
  readonly #onHttp2Stream = (message: unknown): void => {
    const { stream, headers } = message as Http2StreamCreated
    const { session } = stream
    if (session === undefined || session.destroyed) return
    const connection = this.#connections.get(keyOf(session.socket))
    if (connection === undefined) return
    delete headers['grpc-encoding']
    if (connection.widened) return
    connection.widened = true
    session.settings({ initialWindowSize: flowControlWindowBytes })
    session.setLocalWindowSize(flowControlWindowBytes)
  }

  #onStream(service: WireService, call: Inbound): void {
    const remote = call.getPeer()
    const connection = this.#connections.get(remote)
    const refuse = (code: grpcStatus, sentence: string): void => {
      call.emit('error', { code, details: sentence })
    }
    if (connection === undefined) {
      refuse(grpcStatus.UNAVAILABLE, 'the connection was lost')
      return
    }
    if (connection.refusal !== null) {
      refuse(grpcStatus.FAILED_PRECONDITION, connection.refusal)
      return
    }
    let stream: WireStream | null = null
    const onEnd = (reason: string): void => {
      timer.cancel()
      if (stream === null) return
      stream.closed(reason)
      if (!this.#streams.delete(stream)) return
      this.#connections.ended(connection)
    }
    const timer = this.#wire.clock.setTimer(this.#wire.connectTimeoutMs, () =>
      refuse(grpcStatus.DEADLINE_EXCEEDED, 'the handshake did not come in time'),
    )
    call.on('error', (error) => onEnd(textOf(error)))
    call.on('cancelled', () => onEnd('the connection was lost'))
    call.on('close', () => onEnd('the stream was closed'))
    call.on('end', () => {
      onEnd('the other side ended the stream')
      call.end()
    })
    call.on('data', () => this.#connections.read(connection))
    call.once('data', (frame: Buffer) => {
      call.pause()
      timer.cancel()
      try {
        if (connection.streams > 0) {
          throw new MusterError('conflict', 'a connection carries one stream')
        }
        const peer = this.#shakeHands(call, frame)
        const ending = {
          destroy: () => {
            connection.socket.destroy()
          },
          finish: (sentence: string) =>
            call.emit('error', { code: grpcStatus.UNAVAILABLE, details: sentence }),
        }
        const traffic = this.#wire.traffic.of(service.path)
        stream = new WireStream(call, { peer, remote }, ending, traffic)
        this.#streams.add(stream)
        this.#connections.accepted(connection)
        const accepted = stream
        connection.onArriving = () => accepted.arriving()
        service.accept(stream)
      } catch (error) {
        if (!(error instanceof MusterError)) throw error
        if (error.code === 'incompatible') {
          this.#wire.refusals.add('handshake', remote.replace(/:\d+$/, ''), error.message)
          refuse(grpcStatus.FAILED_PRECONDITION, error.message)
        } else {
          refuse(grpcStatus.UNAVAILABLE, error.message)
        }
      }
    })
  }

  #shakeHands(call: Inbound, frame: Buffer): RemotePeer {
    const own = this.#wire.identity()
    const { versions } = this.#wire
    const peer = acceptHello(frame, own, versions, '')
    this.#wire.rememberVersion(peer.id, peer.version)
    call.write(encodeHello(own, versions, peer.id))
    return peer
  }
}

function keyOf(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  return `${socket.remoteAddress}:${socket.remotePort}`
}
